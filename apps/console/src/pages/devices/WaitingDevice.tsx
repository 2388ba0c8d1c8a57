import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Mark } from '../../ui/Mark.tsx'
import { Time } from '../../ui/Time.tsx'
import { arrivalOf, type Enrolment, latestDevicesQuery } from './use-enrolment.ts'

/** Asks this often while somebody waits, should the live stream not come through. */
const WAITING_INTERVAL_MS = 5000

type WaitingDeviceProps = Pick<Enrolment, 'before'> & {
  projectId: string
  /** Stands below the device once it is there. */
  children?: ReactNode
}

/** A row that waits for the next device to connect and then becomes it. */
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
              {device.name ?? 'unnamed'}
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
