import styles from './LabelList.module.css'

/** Labels as text, a key and a value each, in the order of their keys. */
export function LabelList({ labels }: { labels: Readonly<Record<string, string>> }) {
  return (
    <span className={styles.labels}>
      {Object.entries(labels)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, value]) => (
          <span key={key} className={styles.label}>
            <span className={styles.key}>{key}</span>
            <bdi className={styles.value}>{value}</bdi>
          </span>
        ))}
    </span>
  )
}
