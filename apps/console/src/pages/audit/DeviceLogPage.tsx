import { getRouteApi, Link } from '@tanstack/react-router'
import { useActionState } from '../../api/queries.ts'
import { isAbsent } from '../../ui/is-absent.ts'
import { Breadcrumb } from '../../ui/lazy/Breadcrumb.tsx'
import { Absent } from '../../ui/NotFound.tsx'
import { deviceNameText } from '../devices/shared/device-name.ts'
import { EventLog } from './EventLog.tsx'

const PROJECT = '/org_{$organization}/projects/$projectId'
const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/devices/$deviceId/log')

/** Log of a device. */
export function DeviceLogPage() {
  const { deviceId } = route.useParams()
  const { data, error } = useActionState('devices_GetDetails', { deviceId })
  if (isAbsent(error)) return <Absent reason={error} />
  return (
    <EventLog
      title="Audit Log"
      crumb={
        <Breadcrumb
          links={[
            <Link key="devices" from={PROJECT} to="./devices">
              Devices
            </Link>,
            <Link key="device" from={PROJECT} to="./devices/$deviceId" params={{ deviceId }}>
              <bdi>{data ? deviceNameText(data) : deviceId}</bdi>
            </Link>,
          ]}
          here="Audit Log"
        />
      }
      action="devices_QueryAuditLog"
      of={{ deviceId }}
    />
  )
}
