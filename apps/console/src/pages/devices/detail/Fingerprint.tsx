/** Number of bytes in a group. A SHA-256 fingerprint has four groups. */
const GROUP_BYTES = 8

type FingerprintProps = {
  fingerprint: string
  /** Larger, for comparing it with the device. */
  isBig?: boolean
}

/** A certificate fingerprint in groups, so that people can compare it. The text of the page is the fingerprint without spaces. */
export function Fingerprint({ fingerprint, isBig = false }: FingerprintProps) {
  const bytes = fingerprint.split(':')
  const groups = Array.from({ length: Math.ceil(bytes.length / GROUP_BYTES) }, (_, index) =>
    bytes.slice(index * GROUP_BYTES, (index + 1) * GROUP_BYTES).join(':'),
  )
  return (
    <span className={isBig ? 'fp big mono' : 'fp mono'}>
      {groups.map((group, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a group has no identity but its position
        <span key={index}>
          {group}
          {index < groups.length - 1 && <span className="sep">:</span>}
        </span>
      ))}
    </span>
  )
}
