import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { focusHeading } from '../../../../lib/focus-heading.ts'

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
    <ul className="chips" aria-label={label}>
      <li>
        <span className="chip">{children}</span>
        <button
          type="button"
          className="chipx"
          aria-label={`Remove condition: ${words}`}
          onClick={() => {
            focusHeading()
            onRemove()
          }}
        >
          <X className="i i-14" aria-hidden />
        </button>
      </li>
    </ul>
  )
}
