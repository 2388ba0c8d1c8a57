import type { ReactNode } from 'react'
import { formatCount } from '../../lib/app/format.ts'
import { Mark, type MarkState } from '../app/Mark.tsx'
import styles from './Stats.module.css'

/** A row of numbers in a bordered panel: four, or six if `six` is set. */
export function Stats({ six = false, children }: { six?: boolean; children: ReactNode }) {
  return <dl className={`sheet ${styles.stats} ${six ? `touch-area ${styles.six}` : ''}`}>{children}</dl>
}

type StatProps = {
  label: string
  mark?: MarkState
  /** `undefined` while the value loads. */
  value: number | undefined
  /** Error message, if the value could not be loaded. */
  failure?: string | undefined
  /** Small text beside the number. */
  note?: ReactNode
  /** Wraps the label in a link to what was counted. */
  link?: (label: ReactNode) => ReactNode
}

/** A number with its label. */
export function Stat({ label, mark, value, failure, note, link }: StatProps) {
  const isFailed = value === undefined && failure !== undefined
  const labelled = (
    <>
      {mark && <Mark state={mark} />}
      {label}
    </>
  )
  return (
    <div>
      <dt className="row help">{link ? link(labelled) : labelled}</dt>
      <dd className="figure">
        {isFailed ? '–' : value === undefined ? <span className="skeleton" /> : formatCount(value)}
        {isFailed ? <small>{failure}</small> : note && <small>{note}</small>}
      </dd>
    </div>
  )
}
