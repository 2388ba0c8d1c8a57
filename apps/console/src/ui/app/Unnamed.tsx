import styles from './Unnamed.module.css'

/** Stands for an absent name. */
export function Unnamed() {
  return <span className={styles.unnamed}>unnamed</span>
}
