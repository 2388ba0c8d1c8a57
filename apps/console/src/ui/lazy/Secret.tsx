import { Check, Copy } from 'lucide-react'
import { useCopy } from '../use-copy.ts'
import styles from './Secret.module.css'

type SecretProps = {
  text: string
  /** Name of the secret for the copy button, for example "token". */
  what: string
  onCopied?: () => void
}

/** A secret that is shown only once, with a copy button. */
export function Secret({ text, what, onCopied }: SecretProps) {
  const { state, copy } = useCopy(text, onCopied)
  const isCopied = state === 'copied'
  const Icon = isCopied ? Check : Copy
  return (
    <div className={styles.secret} data-secret>
      <code>{text}</code>
      <button type="button" className={isCopied ? styles.copied : undefined} onClick={() => void copy()}>
        <Icon className="icon small-icon" aria-hidden />
        {isCopied ? 'Copied' : state === 'failed' ? 'Press Ctrl+C' : 'Copy'}
        <span className="visually-hidden"> {what}</span>
      </button>
    </div>
  )
}
