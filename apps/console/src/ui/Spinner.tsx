import styles from './Spinner.module.css'

/** A small turning ring, hidden from screen readers because the text beside it names the work. */
export function Spinner() {
  return <span className={styles.spinner} aria-hidden="true" />
}
