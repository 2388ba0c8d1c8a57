type MarkedProps = { text: string; part: string; className?: string }

/** A text with its first occurrence of the searched part marked. */
export function Marked({ text, part, className }: MarkedProps) {
  const at = part ? text.toLowerCase().indexOf(part.toLowerCase()) : -1
  if (at === -1) return <span className={className}>{text}</span>
  const end = at + part.length
  return (
    <span className={className}>
      {text.slice(0, at)}
      <mark>{text.slice(at, end)}</mark>
      {text.slice(end)}
    </span>
  )
}
