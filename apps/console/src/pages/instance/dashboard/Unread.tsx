import styles from './panels.module.css'

/** Placeholder for a value of the dashboard: the reason why the hub could not read it, or a skeleton while it loads (no `failure`). */
export function Unread({ failure }: { failure: string | undefined }) {
  return failure === undefined ? (
    <p className={styles.unread}>
      <span className="skeleton" />
    </p>
  ) : (
    <p className={styles.unread}>
      <b>–</b> <bdi>{failure}</bdi>
    </p>
  )
}
