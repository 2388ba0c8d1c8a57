import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { focusHeading } from '../../../../lib/focus-heading.ts'
import styles from './Chip.module.css'

type ChipProps = {
  /** Accessible name of the part of the filter. */
  label: string
  /** The part in words, for the name of the button that removes it. */
  words: string
  onRemove: () => void
  children: ReactNode
}

/** A part of the filter with a button that removes it. */
export function Chip({ label, words, onRemove, children }: ChipProps) {
  return (
    <ul className={`wrap ${styles.chips}`} aria-label={label}>
      <li>
        <span className={`truncated ${styles.words}`}>{children}</span>
        <button
          type="button"
          className={styles.remove}
          aria-label={`Remove condition: ${words}`}
          onClick={() => {
            focusHeading()
            onRemove()
          }}
        >
          <X className="icon small-icon" aria-hidden />
        </button>
      </li>
    </ul>
  )
}
