import { type KeyboardEvent, useRef, useState } from 'react'
import type { IconType } from '../../ui/icon.ts'
import styles from './ListPick.module.css'
import pick from './Pick.module.css'
import { Pick } from './Pick.tsx'

/** An option of a filter. */
export type PickOption = {
  value: string
  label: string
  icon?: IconType
  /** Shows the label in the monospace font, for names that machines read. */
  isMono?: boolean
}

type ListPickProps = {
  label: string
  /** Text of the button while nothing is chosen, for example "Anyone". */
  none: string
  /** Chosen value; empty for none. */
  value: string
  /** Label of the chosen value. */
  valueLabel: string
  options: readonly PickOption[]
  /** Label of the find box. */
  find: string
  onChange: (value: string) => void
  /** Called with the text of the find box if the user searches for it instead of choosing an option. Absent if only options are valid. */
  onText?: (text: string) => void
  maxLength: number
}

/** Maximum number of options that the popover shows. The other options are found with the search box. */
const MAX_SHOWN = 100

/** A filter with a list of choices and a find box. */
export function ListPick({ label, none, value, valueLabel, ...list }: ListPickProps) {
  return (
    <Pick label={label} value={value === '' ? none : valueLabel} isOn={value !== ''} className={styles.list}>
      {close => <Choices {...list} label={label} none={none} value={value} close={close} />}
    </Pick>
  )
}

type ChoicesProps = Omit<ListPickProps, 'valueLabel'> & { close: () => void }

function Choices({ none, value, options, find, onChange, onText, maxLength, close }: ChoicesProps) {
  const [text, setText] = useState('')
  const list = useRef<HTMLDivElement>(null)
  const wanted = text.trim().toLowerCase()
  const found = options.filter(option => `${option.label} ${option.value}`.toLowerCase().includes(wanted))

  function choose(next: string) {
    close()
    onChange(next)
  }
  function onKeyDown(event: KeyboardEvent) {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>('input, button') ?? [])]
    buttons.at((buttons.indexOf(document.activeElement as HTMLElement) + step) % buttons.length)?.focus()
  }
  function onEnter() {
    const only = found.length === 1 ? found[0] : undefined
    if (only) choose(only.value)
    else if (wanted !== '' && onText) {
      close()
      onText(text.trim())
    }
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the controls in it
    <div ref={list} onKeyDown={onKeyDown}>
      <input
        className="input"
        type="search"
        aria-label={find}
        placeholder={find}
        value={text}
        maxLength={maxLength}
        autoComplete="off"
        spellCheck={false}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key !== 'Enter') return
          // The focus returns to the button, which the same press would open again.
          event.preventDefault()
          onEnter()
        }}
      />
      <ul className={pick.options}>
        {wanted === '' && (
          <li>
            <button type="button" aria-pressed={value === ''} onClick={() => choose('')}>
              {none}
            </button>
          </li>
        )}
        {found.slice(0, MAX_SHOWN).map(option => (
          <li key={option.value}>
            <button type="button" aria-pressed={option.value === value} onClick={() => choose(option.value)}>
              {option.icon && <option.icon className="icon small-icon" aria-hidden />}
              <bdi className={option.isMono ? 'mono truncated' : 'truncated'}>{option.label}</bdi>
            </button>
          </li>
        ))}
        {wanted !== '' && onText && (
          <li>
            <button type="button" aria-pressed="false" onClick={onEnter}>
              <span className="muted">Find</span> <bdi className="truncated">{text.trim()}</bdi>
            </button>
          </li>
        )}
      </ul>
    </div>
  )
}
