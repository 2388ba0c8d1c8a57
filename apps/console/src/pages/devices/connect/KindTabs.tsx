import type { KeyboardEvent } from 'react'
import shared from '../tab-row.module.css'
import styles from './KindTabs.module.css'
import { KINDS, type Kind } from './kinds.ts'

type KindTabsProps = { id: string; kind: Kind; onChange: (kind: Kind) => void }

/** Number of tabs that a key moves by. */
const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 }

/** Tabs with the kinds of devices. Arrow keys move between them. `id` is the prefix of the ids of tabs and panel. */
export function KindTabs({ id, kind, onChange }: KindTabsProps) {
  const at = KINDS.findIndex(one => one.kind === kind)
  function move(event: KeyboardEvent) {
    const step = STEPS[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = KINDS[(at + step + KINDS.length) % KINDS.length]!.kind
    onChange(next)
    document.getElementById(`${id}-${next}`)?.focus()
  }
  return (
    <div
      className={`${shared.row} ${styles.tabs}`}
      role="tablist"
      aria-label="What to connect"
      onKeyDown={move}
    >
      {KINDS.map(({ kind: one, icon: Icon, title, text }) => (
        <button
          key={one}
          id={`${id}-${one}`}
          type="button"
          role="tab"
          aria-selected={one === kind}
          aria-controls={`${id}-panel`}
          tabIndex={one === kind ? 0 : -1}
          onClick={() => onChange(one)}
        >
          <Icon className="icon" aria-hidden />
          <span>
            <b>{title}</b>
            <small className="tiny muted">{text}</small>
          </span>
        </button>
      ))}
    </div>
  )
}
