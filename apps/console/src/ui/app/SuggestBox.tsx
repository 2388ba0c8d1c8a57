import { MAX_KIND_LENGTH } from '@muster/actions/client'
import { useId, useState } from 'react'

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
  const listId = useId()
  const [draft, setDraft] = useState<string>()

  function apply(text: string) {
    setDraft(undefined)
    if (text.trim() !== value) onChange(text.trim())
  }
  function type(text: string) {
    if (text === '' || options.includes(text)) apply(text)
    else setDraft(text)
  }
  return (
    <>
      <input
        className="input mono suggest"
        type="search"
        list={listId}
        value={draft ?? value}
        placeholder={placeholder}
        aria-label={label}
        maxLength={MAX_KIND_LENGTH}
        autoComplete="off"
        spellCheck={false}
        onChange={event => type(event.target.value)}
        onBlur={() => draft !== undefined && apply(draft)}
        onKeyDown={event => {
          if (event.key === 'Enter' && draft !== undefined) apply(draft)
          if (event.key === 'Escape') apply('')
        }}
      />
      <datalist id={listId}>
        {options.map(option => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </>
  )
}
