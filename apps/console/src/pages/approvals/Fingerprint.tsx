import { CopyButton } from '../../ui/CopyButton.tsx'
import { fingerprintGroups } from '../devices/shared/fingerprint-groups.ts'
import styles from './PendingTable.module.css'

/** Number of bytes of the fingerprint in a group. */
const GROUP_BYTES = 4

/** The SHA-256 fingerprint of a certificate in groups of four bytes. The button copies the plain text. */
export function Fingerprint({ text, of }: { text: string; of: string }) {
  const groups = fingerprintGroups(text, GROUP_BYTES)
  return (
    <>
      <span className={`mono ${styles.fingerprint}`}>
        {groups.map((group, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a group has no identity but its position
          <span key={index}>{index < groups.length - 1 ? `${group}:` : group}</span>
        ))}
      </span>
      <CopyButton text={text} label={`Copy fingerprint of ${of}`} />
    </>
  )
}
