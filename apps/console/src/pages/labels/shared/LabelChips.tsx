import { LABELS } from '@muster/predicates'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import styles from './LabelChips.module.css'

type LabelChipsProps = {
  labels: Readonly<Record<string, string>>
  /** Ids of the columns of the list. Labels that have a column stand first. */
  columnIds: readonly string[]
  onLabel: (key: string, value: string) => void
}

/**
 * Labels of a device in its row of a list: two, or three on phones, and the number of the others. A click on a label filters the list by it. The
 * keyboard filters in the panel of conditions: a long list would otherwise have hundreds of further stops.
 */
export function LabelChips({ labels, columnIds, onLabel }: LabelChipsProps) {
  const shown = useIsNarrow() ? 3 : 2
  const isAsked = (key: string) => columnIds.includes(`=${LABELS}.${key}`)
  const all = Object.entries(labels).toSorted(
    ([a], [b]) => Number(isAsked(b)) - Number(isAsked(a)) || (a < b ? -1 : 1),
  )
  return (
    <span className={styles.line} title={all.map(([key, value]) => `${key} ${value}`).join('\n')}>
      {all.slice(0, shown).map(([key, value]) => (
        <button
          key={key}
          type="button"
          tabIndex={-1}
          aria-label={`Filter by label ${key}, ${value}`}
          onClick={() => onLabel(key, value)}
        >
          <span className={styles.label}>
            <span className={styles.key}>{key}</span>
            <bdi className={styles.value}>{value}</bdi>
          </span>
        </button>
      ))}
      {all.length > shown && <span className={`${styles.label} ${styles.more}`}>+{all.length - shown}</span>}
    </span>
  )
}
