import { useActionState } from '../../../api/queries.ts'
import { AsOf } from '../../../ui/app/AsOf.tsx'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Mark } from '../../../ui/app/Mark.tsx'
import { HEALTH } from './property-names.ts'
import { healthOf } from './well-known.ts'

/** Whether a device is connected, followed by its health if it is connected and not healthy. */
export function StatusBadges({ deviceId, isConnected }: { deviceId: string; isConnected: boolean }) {
  return (
    <>
      <Badge tone={isConnected ? 'ok' : 'neutral'}>
        <Mark state={isConnected ? 'on' : 'off'} />
        {isConnected ? 'Connected' : 'Disconnected'}
        <AsOf />
      </Badge>
      {isConnected && <HealthBadge deviceId={deviceId} />}
    </>
  )
}

/** Health that a connected device reports, if it is not healthy. */
function HealthBadge({ deviceId }: { deviceId: string }) {
  const { data } = useActionState('devices_GetProperty', { deviceId, name: HEALTH })
  const health = data?.result === 'Found' ? healthOf(data.value) : undefined
  if (health === 'degraded')
    return (
      <Badge tone="warn">
        <Mark state="warning" />
        Warning
        <AsOf />
      </Badge>
    )
  return (
    health === 'error' && (
      <Badge tone="bad">
        <Mark state="error" />
        Error
        <AsOf />
      </Badge>
    )
  )
}
