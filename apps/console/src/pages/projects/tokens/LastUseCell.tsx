import { Link } from '@tanstack/react-router'
import { Time } from '../../../ui/app/Time.tsx'
import { DeviceName } from '../../devices/DeviceName.tsx'
import type { Token } from './token.ts'

/** Time of the last connection with a token, its device and address. */
export function LastUseCell({ lastUse }: Pick<Token, 'lastUse'>) {
  if (!lastUse) return <span className="muted">Never</span>
  const { at, deviceId, deviceName, hostname, address } = lastUse
  return (
    <div className="pair">
      <Time at={at} />
      <span className="under">
        {deviceId ? (
          <Link
            from="/org_{$organization}/projects/$projectId/tokens"
            to="../devices/$deviceId"
            params={{ deviceId }}
          >
            <DeviceName name={deviceName} hostname={hostname} />
          </Link>
        ) : (
          'a deleted device'
        )}
        , from {address}
      </span>
    </div>
  )
}
