import { ChevronDown } from 'lucide-react'
import { type KeyboardEvent, useId, useState } from 'react'
import { describedBy, Field, IGNORED_BY_PASSWORD_MANAGERS } from './Field.tsx'

/** One thing to choose. */
export type ComboOption = {
  value: string
  label: string
  /** Tells things of the same name apart. */
  detail: string
  /** Why it cannot be chosen. */
  reason?: string | undefined
}

type ComboBoxProps = {
  label: string
  required?: boolean
  error?: string | undefined
  placeholder: string
  /** What stands in the box: the label of what is chosen, or what was typed to find it. */
  text: string
  onType: (text: string) => void
  /** What matches the text; nothing while that loads. */
  options: readonly ComboOption[] | undefined
  /** Stands below the options, or in their place when there are none. */
  note?: string | undefined
  onChoose: (option: ComboOption) => void
}

/** A choice among many by typing part of a name: arrow keys move, Enter takes, Escape closes. */
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
  /** What Enter takes when no option is marked; the options may still be those of a shorter text. */
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
        {/* A press on what is in here must not take the focus from the box, which would close it. */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the box */}
        <div className="options" hidden={!isOpen} onMouseDown={event => event.preventDefault()}>
          <div id={`${id}-list`} role="listbox" aria-label={label}>
            {options.map(option => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the box
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the box
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
