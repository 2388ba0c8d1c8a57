import { CopyButton } from '../../../ui/CopyButton.tsx'

/** Bytes in a group. */
const GROUP_BYTES = 4

/** The SHA-256 fingerprint of a certificate in groups of four bytes. The button copies the plain text. */
export function Fingerprint({ text, of }: { text: string; of: string }) {
  const bytes = text.split(':')
  const groups = Array.from({ length: Math.ceil(bytes.length / GROUP_BYTES) }, (_, index) =>
    bytes.slice(index * GROUP_BYTES, (index + 1) * GROUP_BYTES).join(':'),
  )
  return (
    <>
      <span className="fp mono">
        {groups.map((group, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a group has no identity but its position
          <span key={index}>{index < groups.length - 1 ? `${group}:` : group}</span>
        ))}
      </span>
      <CopyButton text={text} label={`Copy fingerprint of ${of}`} />
    </>
  )
}
