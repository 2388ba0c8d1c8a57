import type { ReactNode } from 'react'
import { Mark, type MarkState } from './Mark.tsx'

/** Numbers side by side in a sheet. */
export function Stats({ children }: { children: ReactNode }) {
  return <dl className="sheet stats">{children}</dl>
}

type StatProps = {
  label: string
  mark?: MarkState
  /** Absent while it loads. */
  value: number | undefined
  /** Small words beside the number. */
  note?: string | undefined
}

/** One number with its name. */
export function Stat({ label, mark, value, note }: StatProps) {
  return (
    <div>
      <dt>
        {mark && <Mark state={mark} />}
        {label}
      </dt>
      <dd>
        {value === undefined ? <span className="skel" /> : value.toLocaleString('en')}
        {note && <small>{note}</small>}
      </dd>
    </div>
  )
}
