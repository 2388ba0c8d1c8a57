import { CopyButton } from './CopyButton.tsx'

/** An identifier in mono with its copy button; `what` names it, for example "device id". */
export function Id({ id, what }: { id: string; what: string }) {
  return (
    <span className="idc mono">
      <span className="idt">{id}</span>
      <CopyButton text={id} label={`Copy ${what}`} />
    </span>
  )
}
