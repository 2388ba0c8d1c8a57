import styles from './Skeleton.module.css'

const WIDTHS = ['78%', '62%', '88%', '70%']

type SkeletonProps = {
  /** Text for screen readers, for example "Loading devices". */
  label: string
  rows?: number
}

/** Placeholder bars with the height of the expected rows. They appear after 150 ms. */
export function Skeleton({ label, rows = 3 }: SkeletonProps) {
  return (
    <div className={`${styles.rows} ${styles.appearing}`} aria-busy="true">
      <span className="visually-hidden">{label}</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a bar has no identity but its position
        <div key={row}>
          <span className="skeleton" style={{ width: WIDTHS[row % WIDTHS.length] }} />
        </div>
      ))}
    </div>
  )
}

/** Placeholder bars as table rows, for use inside a `tbody`. */
export function SkeletonRows({ columns, rows = 8 }: { columns: number; rows?: number }) {
  return Array.from({ length: rows }, (_, row) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a bar has no identity but its position
    <tr key={row} data-skeleton className={styles.appearing}>
      {Array.from({ length: columns }, (_, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a bar has no identity but its position
        <td key={column}>
          <span className="skeleton" style={{ width: WIDTHS[(row + column) % WIDTHS.length] }} />
        </td>
      ))}
    </tr>
  ))
}
