import type { ActionOutput } from '@muster/actions/client'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ExternalLink, ShieldAlert } from 'lucide-react'
import { ageOf } from '../../../lib/app/age.ts'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { AsOf } from '../../../ui/app/AsOf.tsx'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Id } from '../../../ui/app/Id.tsx'
import { LiveStamp } from '../../../ui/app/LiveStamp.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Breadcrumb } from '../../../ui/lazy/Breadcrumb.tsx'
import { Elapsed } from '../../../ui/lazy/Elapsed.tsx'
import { EntityHead } from '../../../ui/lazy/EntityHead.tsx'
import { Title } from '../../../ui/Title.tsx'
import { DeviceLabels } from '../../labels/shared/DeviceLabels.tsx'
import { DeviceName } from '../shared/DeviceName.tsx'
import { deviceNameText } from '../shared/device-name.ts'
import { PROXY_LINK_HOURS } from '../shared/proxy-link-hours.ts'
import { useProxyLink } from '../shared/use-proxy-link.ts'
import { DeviceMenu } from './DeviceMenu.tsx'
import { connectionsQuery, deviceQueries } from './device-queries.ts'
import { StatusBadges } from './StatusBadges.tsx'

type Details = ActionOutput<'devices_GetDetails'>

type DeviceHeadProps = {
  projectId: string
  deviceId: string
  /** `undefined` while the details load. The head then shows the id from the URL. */
  details: Details | undefined
  answeredAt: number
  /** Time when the details could not be loaded, in milliseconds since 1970; 0 for never. */
  failedAt: number
}

/** Head of a device's page: breadcrumb, name, connection state and the actions of the page. */
export function DeviceHead({ projectId, deviceId, details, answeredAt, failedAt }: DeviceHeadProps) {
  const name = details ? deviceNameText(details) : deviceId
  const queries = useQueries({ queries: deviceQueries(deviceId) })
  const refresh = () => Promise.all(queries.map(({ refetch }) => refetch()))
  const proxy = useProxyLink(deviceId)
  // Without details the page is not up to date, even if the other queries have answers.
  const age = !details && failedAt > 0 ? { updatedAt: 0, failedAt } : ageOf(queries)
  useShortcut('r', 'Refresh', refresh)
  return (
    <>
      <Title page={name} />
      <Breadcrumb
        links={[
          <Link key="devices" from="/org_{$organization}/projects/$projectId" to="./devices">
            Devices
          </Link>,
        ]}
        here={name}
      />
      <EntityHead
        title={details ? <DeviceName {...details} /> : deviceId}
        badges={
          <>
            {details && <StatusBadges deviceId={deviceId} isConnected={details.isConnected} />}
            {details?.certificates.some(({ status }) => status === 'Pending') && (
              <Badge tone="warn" icon={ShieldAlert}>
                Pending
              </Badge>
            )}
          </>
        }
        facts={
          <>
            <Id id={deviceId} what="device id" />
            {details && <Presence deviceId={deviceId} details={details} answeredAt={answeredAt} />}
            {details && (
              <span>
                First seen <Time at={details.firstSeen} />
              </span>
            )}
          </>
        }
        below={
          details && <DeviceLabels projectId={projectId} deviceId={deviceId} labels={details.labels ?? {}} />
        }
        actions={
          <>
            <LiveStamp {...(age ?? { updatedAt: 0 })} />
            <Button
              icon={ExternalLink}
              data-tip={`Link valid for ${PROXY_LINK_HOURS} hours`}
              busy={proxy.isPending}
              onClick={() => proxy.open()}
            >
              HTTP Proxy
            </Button>
            <DeviceMenu
              projectId={projectId}
              deviceId={deviceId}
              name={name}
              refresh={refresh}
              openProxy={() => proxy.open()}
            />
          </>
        }
      />
    </>
  )
}

type PresenceProps = { deviceId: string; details: Details; answeredAt: number }

/** Duration of the current connection, or the time of the last one. */
function Presence({ deviceId, details: { isConnected, connections }, answeredAt }: PresenceProps) {
  const history = useQuery(connectionsQuery(deviceId)).data?.connections
  const [open] = connections
  if (isConnected && open)
    return (
      <span>
        Connected for <Elapsed secs={open.connectedForSecs} answeredAt={answeredAt} />
        <AsOf /> via <span className="mono">{open.nodeName ?? open.nodeId}</span>
      </span>
    )
  if (isConnected || !history) return null
  const endedAt = history[0]?.endedAt
  return endedAt === undefined ? (
    history.length === 0 && <span>Never connected</span>
  ) : (
    <span>
      Last connected <Time at={endedAt} />
    </span>
  )
}
