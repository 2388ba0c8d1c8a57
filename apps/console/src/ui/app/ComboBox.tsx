import { ChevronDown } from 'lucide-react'
import { type KeyboardEvent, useId, useState } from 'react'
import { describedBy, Field, IGNORED_BY_PASSWORD_MANAGERS } from '../Field.tsx'

/** An option of the list. */
export type ComboOption = {
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
export function ComboBox({
  label,
  required,
  error,
  placeholder,
  text,
  onType,
  options = [],
  note,
  onChoose,
}: ComboBoxProps) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const [active, setActive] = useState<string>()
  const free = options.filter(({ reason }) => !reason)
  const at = free.findIndex(({ value }) => value === active)

  function choose(option: ComboOption | undefined) {
    if (!option || option.reason) return
    setOpen(false)
    onChoose(option)
  }
  /**
   * The option that Enter chooses if no option is selected with the arrow keys. It must contain the typed text, because the
   * options may still be the answer to an earlier, shorter text.
   */
  function firstLike(typed: string) {
    const part = typed.trim().toLowerCase()
    return part
      ? free.find(option => `${option.label} ${option.detail}`.toLowerCase().includes(part))
      : undefined
  }
  function move(step: 1 | -1) {
    setOpen(true)
    const next = at === -1 ? (step === 1 ? 0 : -1) : (at + step) % free.length
    const option = free.at(next)
    setActive(option?.value)
    if (option) document.getElementById(`${id}-${option.value}`)?.scrollIntoView({ block: 'nearest' })
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === 'ArrowDown') move(1)
    else if (event.key === 'ArrowUp') move(-1)
    else if (event.key === 'Enter' && isOpen) choose(free[at] ?? firstLike(text))
    else if (event.key === 'Escape' && isOpen) setOpen(false)
    else return
    event.preventDefault()
  }

  return (
    <Field id={id} label={label} required={required} error={error}>
      <div className="combo">
        <input
          {...IGNORED_BY_PASSWORD_MANAGERS}
          {...describedBy(id, undefined, error)}
          id={id}
          className="input"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-required={required}
          {...(isOpen && at !== -1 && { 'aria-activedescendant': `${id}-${active}` })}
          autoComplete="off"
          spellCheck={false}
          placeholder={placeholder}
          value={text}
          onChange={event => {
            onType(event.target.value)
            setActive(undefined)
            setOpen(true)
          }}
          onClick={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={onKeyDown}
        />
        <ChevronDown className="i" aria-hidden />
        {/* A press on an option must not move the focus out of the input, or the list would close before the click. */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the input handles the keys */}
        <div className="options" hidden={!isOpen} onMouseDown={event => event.preventDefault()}>
          <div id={`${id}-list`} role="listbox" aria-label={label}>
            {options.map(option => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
              <div
                key={option.value}
                id={`${id}-${option.value}`}
                role="option"
                aria-selected={option.value === active}
                aria-disabled={option.reason !== undefined}
                onClick={() => choose(option)}
              >
                <span className="trunc">{option.label}</span>
                <span className="trunc mono muted">{option.detail}</span>
                {option.reason && <span className="muted">{option.reason}</span>}
              </div>
            ))}
          </div>
          {note && <p className="muted">{note}</p>}
        </div>
      </div>
    </Field>
  )
}
