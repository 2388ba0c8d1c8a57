import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Mark } from '../../../ui/app/Mark.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { DeviceName } from '../DeviceName.tsx'
import { arrivalOf, type Enrolment, latestDevicesQuery } from './use-enrolment.ts'

/** Polling interval while the user waits, in case the live stream is blocked. */
const WAITING_INTERVAL_MS = 5000

type WaitingDeviceProps = Pick<Enrolment, 'before'> & {
  projectId: string
  /** Shown below the device after it has connected. */
  children?: ReactNode
}

/** A row that waits for the next device to connect, then shows it. */
export function WaitingDevice({ projectId, before, children }: WaitingDeviceProps) {
  const { data } = useQuery({ ...latestDevicesQuery(projectId), refetchInterval: WAITING_INTERVAL_MS })
  const device = data && arrivalOf(data.devices, before)
  return (
    <>
      <div className="row" role="status" style={{ flexWrap: 'wrap', minHeight: 32 }}>
        {device ? (
          <>
            <Mark state={device.isConnected ? 'on' : 'off'} />
            <Link
              from="/org_{$organization}/projects/$projectId/devices"
              to="./$deviceId"
              params={{ deviceId: device.deviceId }}
              style={{ overflowWrap: 'anywhere' }}
            >
              <DeviceName {...device} />
              <span className="sr"> {device.deviceId}</span>
            </Link>
            <span className="muted">
              {before.has(device.deviceId) ? 'is back, first seen' : 'has connected, first seen'}{' '}
              <Time at={device.firstSeen} />
            </span>
          </>
        ) : (
          <span className="live">
            <i aria-hidden="true" />
            Waiting for the device to connect…
          </span>
        )}
      </div>
      {device && children}
    </>
  )
}
