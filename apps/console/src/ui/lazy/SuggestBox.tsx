import { Autocomplete } from '@base-ui/react/autocomplete'
import { MAX_KIND_LENGTH } from '@muster/actions/client'
import { useRef, useState } from 'react'
import { OptionsPopup } from './OptionsPopup.tsx'

type SuggestBoxProps = {
  value: string
  /** Suggestions. Any other text is accepted too. */
  options: readonly string[]
  onChange: (value: string) => void
  /** Accessible name, for example "Filter by type". */
  label: string
  placeholder: string
}

/**
 * A filter by an exact name, with suggestions. It takes effect when a suggestion is chosen, at Enter, or when the input
 * loses the focus.
 */
export function SuggestBox({ value, options, onChange, label, placeholder }: SuggestBoxProps) {
  const box = useRef<HTMLDivElement>(null)
  const isHighlighted = useRef(false)
  const [isOpen, setOpen] = useState(false)
  const [draft, setDraft] = useState<string>()
  const part = (draft ?? '').trim().toLowerCase()
  const found = options.filter(option => option.toLowerCase().includes(part))

  function apply(text: string) {
    setDraft(undefined)
    if (text.trim() !== value) onChange(text.trim())
  }
  function choose(option: string) {
    setOpen(false)
    apply(option)
  }
  function type(text: string) {
    if (text === '' || options.includes(text)) apply(text)
    else setDraft(text)
  }
  return (
    <Autocomplete.Root<string>
      items={found}
      filter={null}
      value={draft ?? value}
      onValueChange={(text, { reason }) => reason === 'input-change' && type(text)}
      openOnInputClick
      open={isOpen}
      onOpenChange={setOpen}
      onItemHighlighted={option => {
        isHighlighted.current = option !== undefined
      }}
    >
      <div ref={box} className="suggest">
        <Autocomplete.Input
          className="input mono"
          type="search"
          placeholder={placeholder}
          aria-label={label}
          maxLength={MAX_KIND_LENGTH}
          autoComplete="off"
          spellCheck={false}
          onBlur={() => draft !== undefined && apply(draft)}
          onKeyDown={event => {
            if (event.key === 'Enter' && !isHighlighted.current && draft !== undefined) choose(draft)
            if (event.key === 'Escape' && !isOpen) apply('')
          }}
        />
        {isOpen && found.length > 0 && (
          <OptionsPopup anchor={box}>
            <Autocomplete.List aria-label={label}>
              {found.map(option => (
                <Autocomplete.Item key={option} value={option} onClick={() => choose(option)}>
                  <span className="trunc mono">{option}</span>
                </Autocomplete.Item>
              ))}
            </Autocomplete.List>
          </OptionsPopup>
        )}
      </div>
    </Autocomplete.Root>
  )
}
