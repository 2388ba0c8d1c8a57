import type { ReactNode } from 'react'
import { formatCount } from '../../lib/app/format.ts'
import { Mark, type MarkState } from './Mark.tsx'

/** A row of numbers in a bordered panel. */
export function Stats({ children }: { children: ReactNode }) {
  return <dl className="sheet stats">{children}</dl>
}

type StatProps = {
  label: string
  mark?: MarkState
  /** `undefined` while the value loads. */
  value: number | undefined
  /** Error message, if the value could not be loaded. */
  failure?: string | undefined
  /** Small text beside the number. */
  note?: string | undefined
}

/** A number with its label. */
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
