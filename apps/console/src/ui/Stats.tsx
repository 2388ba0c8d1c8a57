import type { ReactNode } from 'react'
import { formatCount } from '../lib/format.ts'
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
  /** Why there is no value, when it could not be loaded. */
  failure?: string | undefined
  /** Small words beside the number. */
  note?: string | undefined
}

/** One number with its name. */
export function Stat({ label, mark, value, failure, note }: StatProps) {
  const isFailed = value === undefined && failure !== undefined
  return (
    <div>
      <dt>
        {mark && <Mark state={mark} />}
        {label}
      </dt>
      <dd>
        {isFailed ? '–' : value === undefined ? <span className="skel" /> : formatCount(value)}
        {isFailed ? <small>{failure}</small> : note && <small>{note}</small>}
      </dd>
    </div>
  )
}
