import { Check, Copy, X } from 'lucide-react'
import styles from './CopyButton.module.css'
import { useCopy } from './use-copy.ts'

type CopyButtonProps = {
  text: string
  /** Accessible name, for example "Copy device id". */
  label: string
  onCopied?: () => void
}

const CLASS = { idle: 'copy', copied: `copy ${styles.copied}`, failed: `copy ${styles.failed}` }

/** Copies a text. The icon becomes a check mark for two seconds. */
export function CopyButton({ text, label, onCopied }: CopyButtonProps) {
  const { state, copy } = useCopy(text, onCopied)
  const Icon = state === 'copied' ? Check : state === 'failed' ? X : Copy
  return (
    <button
      type="button"
      className={CLASS[state]}
      aria-label={label}
      data-tip={state === 'copied' ? 'Copied' : state === 'failed' ? 'Press Ctrl+C' : label}
      onClick={event => {
        event.preventDefault()
        event.stopPropagation()
        void copy()
      }}
    >
      <Icon className="icon small-icon" aria-hidden />
    </button>
  )
}
