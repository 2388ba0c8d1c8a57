import { Autocomplete } from '@base-ui/react/autocomplete'
import { ChevronDown } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { describedBy, Field, IGNORED_BY_PASSWORD_MANAGERS } from '../Field.tsx'
import { OptionsPopup } from './OptionsPopup.tsx'

/** An option of the list. */
type ComboOption = {
  value: string
  label: string
  /** Distinguishes options of the same name, for example an id. */
  detail: string
  /** Reason why the option cannot be chosen. */
  reason?: string | undefined
}

type ComboBoxProps = {
  label: string
  required?: boolean
  error?: string | undefined
  placeholder: string
  /** Text in the box: the label of the chosen option, or the search text. */
  text: string
  onType: (text: string) => void
  /** Options that match the text, `undefined` while they load. */
  options: readonly ComboOption[] | undefined
  /** Shown below the options, or instead of them when there are none. */
  note?: string | undefined
  onChoose: (option: ComboOption) => void
}

/** Selects an option by a part of its name. Arrow keys move, Enter selects, Escape closes. */
export function ComboBox(props: ComboBoxProps) {
  const { label, required, error, placeholder, text, onType, options = [], note, onChoose } = props
  const id = useId()
  const box = useRef<HTMLDivElement>(null)
  const highlighted = useRef<ComboOption>(undefined)
  const [isOpen, setOpen] = useState(false)

  /**
   * The option that Enter chooses if no option is selected with the arrow keys. It must contain the typed text, because the
   * options may still be the answer to an earlier, shorter text.
   */
  function firstLike(typed: string) {
    const part = typed.trim().toLowerCase()
    return part
      ? options.find(
          option => !option.reason && `${option.label} ${option.detail}`.toLowerCase().includes(part),
        )
      : undefined
  }
  function choose(option: ComboOption | undefined) {
    if (!option) return
    setOpen(false)
    onChoose(option)
  }

  return (
    <Field id={id} label={label} required={required} error={error}>
      <Autocomplete.Root<ComboOption>
        items={options}
        filter={null}
        value={text}
        itemToStringValue={option => option.label}
        // Ignores the change of text when an option is chosen, because the caller then sets `text` in `onChoose`.
        onValueChange={(typed, { reason }) => reason === 'input-change' && onType(typed)}
        openOnInputClick
        open={isOpen}
        onOpenChange={setOpen}
        onItemHighlighted={option => {
          highlighted.current = option
        }}
      >
        <div ref={box} className="combo">
          <Autocomplete.Input
            {...IGNORED_BY_PASSWORD_MANAGERS}
            {...describedBy(id, undefined, error)}
            id={id}
            className="input"
            aria-required={required}
            autoComplete="off"
            spellCheck={false}
            placeholder={placeholder}
            onKeyDown={event => {
              if (event.key !== 'Enter' || !isOpen || highlighted.current) return
              event.preventBaseUIHandler()
              event.preventDefault()
              choose(firstLike(text))
            }}
          />
          <ChevronDown className="i" aria-hidden />
          {isOpen && (
            <OptionsPopup anchor={box}>
              <Autocomplete.List aria-label={label}>
                {options.map(option => (
                  <Autocomplete.Item
                    key={option.value}
                    value={option}
                    disabled={option.reason !== undefined}
                    onClick={() => !option.reason && choose(option)}
                  >
                    <span className="trunc">{option.label}</span>
                    <span className="trunc mono muted">{option.detail}</span>
                    {option.reason && <span className="muted">{option.reason}</span>}
                  </Autocomplete.Item>
                ))}
              </Autocomplete.List>
              {note && <p className="muted">{note}</p>}
            </OptionsPopup>
          )}
        </div>
      </Autocomplete.Root>
    </Field>
  )
}
