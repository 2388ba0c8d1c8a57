import styles from './labels.module.css'

/** Number of labels that a row shows; the others are counted. */
const SHOWN = 2

/** Labels of a device in its row of a list. They are text, because the link of the row covers them. */
export function LabelChips({ labels }: { labels: Readonly<Record<string, string>> }) {
  const all = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const rest = all.length - SHOWN
  return (
    <span className={styles.line} title={all.map(([key, value]) => `${key} ${value}`).join('\n')}>
      {all.slice(0, SHOWN).map(([key, value]) => (
        <span key={key} className={styles.label}>
          <span className={styles.key}>{key}</span>
          <bdi className={styles.value}>{value}</bdi>
        </span>
      ))}
      {rest > 0 && <span className={`${styles.label} ${styles.more}`}>+{rest}</span>}
    </span>
  )
}
