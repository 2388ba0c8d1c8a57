import { CopyButton } from '../CopyButton.tsx'

/** Number of characters, from the end of an id, that are visible. */
const TAIL_CHARS = 8

/** The last characters of an id, for tables with many columns. The copy button copies the whole id. */
export function IdTail({ id, what }: { id: string; what: string }) {
  return (
    <span className="idc mono" title={id}>
      <span className="visually-hidden">{id}</span>
      <span aria-hidden="true">{id.slice(-TAIL_CHARS)}</span>
      <CopyButton text={id} label={`Copy ${what}`} />
    </span>
  )
}
