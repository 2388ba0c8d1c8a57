import { fingerprintGroups } from '../shared/fingerprint-groups.ts'
import styles from './Fingerprint.module.css'

/** Number of bytes in a group. A SHA-256 fingerprint has four groups. */
const GROUP_BYTES = 8

type FingerprintProps = {
  fingerprint: string
  /** Shows the fingerprint in a larger size, so that people can compare it with the one on the device. */
  isBig?: boolean
}

/**
 * A certificate fingerprint in visually separated groups, so that people can compare it. The gaps come from CSS and are not characters: the
 * element's text is the unbroken fingerprint.
 */
export function Fingerprint({ fingerprint, isBig = false }: FingerprintProps) {
  const groups = fingerprintGroups(fingerprint, GROUP_BYTES)
  return (
    <span className={isBig ? `mono ${styles.fingerprint} ${styles.big}` : `mono ${styles.fingerprint}`}>
      {groups.map((group, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a group has no identity but its position
        <span key={index}>
          {group}
          {index < groups.length - 1 && <span className={styles.separator}>:</span>}
        </span>
      ))}
    </span>
  )
}
