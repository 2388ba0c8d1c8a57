import { CopyButton } from './CopyButton.tsx'

type IdProps = {
  id: string
  /** Names it, for example "device id". */
  what: string
  /** May take two lines, where columns are many. */
  wrap?: boolean
}

/** An identifier in mono with its copy button. */
export function Id({ id, what, wrap = false }: IdProps) {
  return (
    <span className={wrap ? 'idc mono two-lines' : 'idc mono'}>
      <span className="idt">{id}</span>
      <CopyButton text={id} label={`Copy ${what}`} />
    </span>
  )
}
