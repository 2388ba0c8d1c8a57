import { useNow } from '../../lib/app/clock.ts'
import { lookUp } from '../../lib/app/look-up.ts'
import { AsOf } from '../../ui/app/AsOf.tsx'
import { Mark } from '../../ui/app/Mark.tsx'

/** Mark and word for a connected device that is not healthy, keyed by the status that the hub sends (docs/protocol.md 4.3). */
const HEALTH_WORDS: Readonly<Record<string, { state: 'warning' | 'error'; word: string } | undefined>> = {
  warning: { state: 'warning', word: 'Warning' },
  error: { state: 'error', word: 'Error' },
}

type DeviceStatusProps = {
  isConnected: boolean
  status: string | undefined
  /** Whether several machines take the connection of the device over from each other. */
  hasSharedIdentity?: boolean | undefined
  /** End of the device's certificates, while it is near or over. */
  certificateEndsAt?: string | undefined
}

/** Connection state of a device. For a connected device that is not healthy, its health follows: "Connected · Warning". */
export function DeviceStatus({
  isConnected,
  status,
  hasSharedIdentity = false,
  certificateEndsAt,
}: DeviceStatusProps) {
  const health = isConnected && status ? lookUp(HEALTH_WORDS, status, undefined) : undefined
  return (
    <span className="status">
      <Mark state={isConnected ? 'on' : 'off'}>
        {isConnected ? 'Connected' : 'Disconnected'}
        <AsOf />
      </Mark>
      {hasSharedIdentity && (
        <>
          <span className="muted"> · </span>
          <Mark state="error">Shared identity</Mark>
        </>
      )}
      {certificateEndsAt !== undefined && <CertificateEnd at={certificateEndsAt} />}
      {health && (
        <>
          <span className="muted"> · </span>
          <Mark state={health.state}>{health.word}</Mark>
        </>
      )}
    </span>
  )
}

function CertificateEnd({ at }: { at: string }) {
  const isOver = useNow() >= Date.parse(at)
  return (
    <>
      <span className="muted"> · </span>
      <Mark state={isOver ? 'error' : 'warning'}>
        {isOver ? 'Certificate expired' : 'Certificate ends soon'}
      </Mark>
    </>
  )
}
