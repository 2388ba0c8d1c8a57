import { CircleAlert, TriangleAlert } from 'lucide-react'
import { shortAge } from '../../../lib/app/relative-time.ts'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Mark } from '../../../ui/app/Mark.tsx'

const DAY_MS = 24 * 60 * 60 * 1000

type DeviceStateProps = { isConnected: boolean; status?: string | undefined; lastSeenAt?: string | undefined }

/** Connection state of a device in one line: the time since it was last seen, or its health when it is connected and not healthy. */
export function DeviceState({ isConnected, status, lastSeenAt }: DeviceStateProps) {
  if (!isConnected) {
    return (
      <Mark state="off">
        {lastSeenAt === undefined ? (
          'Disconnected'
        ) : (
          <>
            <span className="visually-hidden">Disconnected for </span>
            {ageOf(Date.parse(lastSeenAt))}
          </>
        )}
      </Mark>
    )
  }
  return (
    <>
      <Mark state="on">Connected</Mark>
      {status === 'error' && (
        <Badge tone="bad" icon={CircleAlert}>
          Error
        </Badge>
      )}
      {status === 'warning' && (
        <Badge tone="warn" icon={TriangleAlert}>
          Warning
        </Badge>
      )}
    </>
  )
}

function ageOf(atMs: number): string {
  const nowMs = Date.now()
  const days = Math.floor((nowMs - atMs) / DAY_MS)
  return days > 0 ? `${days} d` : shortAge(atMs, nowMs)
}
