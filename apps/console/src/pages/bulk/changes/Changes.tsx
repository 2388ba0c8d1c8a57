import { ArrowRight } from 'lucide-react'
import type { BulkItem } from '../shared/bulk-words.ts'
import styles from './Changes.module.css'

type ChangesProps = {
  changes: NonNullable<BulkItem['changes']>
  /** Whether all rows change the same label or only the name, which the head of the column then names. */
  isOnly: boolean
}

/** Changes of the labels and the name of a device: the value before, and the value after. */
export function Changes({ changes, isOnly }: ChangesProps) {
  return (
    <span className={styles.changes}>
      {changes.map(({ label, before, after }) => (
        <span key={label ?? ''}>
          {!isOnly && <span className="muted">{label ?? 'name'}: </span>}
          {before === undefined ? (
            <span className="muted">{isOnly ? `no ${label === undefined ? 'name' : 'label'}` : 'none'}</span>
          ) : (
            <del>{before}</del>
          )}
          <ArrowRight className="icon small-icon" aria-hidden />
          <span className="visually-hidden"> becomes </span>
          {after === undefined ? <span className="muted">removed</span> : <ins>{after}</ins>}
        </span>
      ))}
    </span>
  )
}

/** Head of a column of changes: the label if all rows change only this one, "Name", or "Changes". */
export function changesHead(rows: readonly { changes?: BulkItem['changes'] }[]): {
  name: string
  isOnly: boolean
} {
  const labels = new Set(rows.flatMap(({ changes = [] }) => changes.map(({ label }) => label ?? '')))
  const [only] = labels
  if (labels.size !== 1 || only === undefined) return { name: 'Changes', isOnly: false }
  return { name: only === '' ? 'New name' : only, isOnly: true }
}
