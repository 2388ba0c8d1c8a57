import { Check, Copy } from 'lucide-react'
import { useCopy } from './use-copy.ts'

type SecretProps = {
  text: string
  /** What is copied, for example "token". */
  what: string
  onCopied?: () => void
}

/** A secret that is shown once, with a button to copy it. */
export function Secret({ text, what, onCopied }: SecretProps) {
  const { state, copy } = useCopy(text, onCopied)
  const isCopied = state === 'copied'
  const Icon = isCopied ? Check : Copy
  return (
    <div className="secret">
      <code>{text}</code>
      <button type="button" className={isCopied ? 'done' : undefined} onClick={() => void copy()}>
        <Icon className="i i-14" aria-hidden />
        {isCopied ? 'Copied' : state === 'failed' ? 'Press Ctrl+C' : 'Copy'}
        <span className="sr"> {what}</span>
      </button>
    </div>
  )
}
