import styles from './Code.module.css'
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
      <CodeText text={text} prompt={prompt} />
    </div>
  )
}

/** The text of a command, after a shell prompt that is neither selected nor copied. */
export function CodeText({ text, prompt }: Pick<CodeProps, 'text' | 'prompt'>) {
  return (
    <code>
      {prompt && (
        <span className={styles.prompt} aria-hidden="true">
          ${' '}
        </span>
      )}
      {text}
    </code>
  )
}
