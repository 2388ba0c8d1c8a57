import { CopyButton } from './CopyButton.tsx'

type CodeProps = {
  /** Text to show and to copy. */
  text: string
  /** Accessible name of the copy button, for example "Copy command". */
  label: string
  /** Shows a shell prompt before a command. The prompt is neither selected nor copied. */
  prompt?: boolean
  onCopied?: () => void
}

/** A block of text to copy: a command or an error. */
export function Code({ text, label, prompt = false, onCopied }: CodeProps) {
  return (
    <div className="code">
      <CopyButton text={text} label={label} {...(onCopied && { onCopied })} />
      <code>
        {prompt && (
          <span className="p" aria-hidden="true">
            ${' '}
          </span>
        )}
        {text}
      </code>
    </div>
  )
}
