import { AsOf } from '../../ui/app/AsOf.tsx'
import { Mark } from '../../ui/app/Mark.tsx'

/** Mark and word for a connected device that is not healthy, keyed by the status that the hub sends (docs/protocol.md 4.3). */
const HEALTH_WORDS: Readonly<Record<string, { state: 'warning' | 'error'; word: string }>> = {
  warning: { state: 'warning', word: 'Warning' },
  error: { state: 'error', word: 'Error' },
}

type StatusProps = {
  isConnected: boolean
  status?: string | undefined
  /** Whether several machines take the connection of the device over from each other. */
  hasSharedIdentity?: boolean | undefined
}

/** The words of a device's state: its connection, and its health if it is connected and not healthy. */
export function statusWords({ isConnected, status, hasSharedIdentity = false }: StatusProps) {
  return {
    sharedIdentity: hasSharedIdentity ? 'Shared identity' : undefined,
    connection: isConnected ? 'Connected' : 'Disconnected',
    health: isConnected && status ? HEALTH_WORDS[status] : undefined,
  }
}

/** Connection state of a device. For a connected device that is not healthy, its health follows: "Connected · Warning". */
export function DeviceStatus(props: StatusProps) {
  const { connection, sharedIdentity, health } = statusWords(props)
  return (
    <span className="status">
      <Mark state={props.isConnected ? 'on' : 'off'}>
        {connection}
        <AsOf />
      </Mark>
      {sharedIdentity && (
        <>
          <span className="muted"> · </span>
          <Mark state="error">{sharedIdentity}</Mark>
        </>
      )}
      {health && (
        <>
          <span className="muted"> · </span>
          <Mark state={health.state}>{health.word}</Mark>
        </>
      )}
    </span>
  )
}
