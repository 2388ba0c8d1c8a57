import type { ActionOutput } from '@muster/actions/client'
import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ExternalLink } from 'lucide-react'
import { ageOf } from '../../../lib/app/age.ts'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { AsOf } from '../../../ui/app/AsOf.tsx'
import { Breadcrumb } from '../../../ui/app/Breadcrumb.tsx'
import { Elapsed } from '../../../ui/app/Elapsed.tsx'
import { Id } from '../../../ui/app/Id.tsx'
import { LiveStamp } from '../../../ui/app/LiveStamp.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Title } from '../../../ui/Title.tsx'
import { DeviceName } from '../DeviceName.tsx'
import { deviceNameText } from '../device-name.ts'
import { deviceQueries } from './device-queries.ts'
import { StatusBadges } from './StatusBadges.tsx'
import { PROXY_LINK_HOURS, useProxyLink } from './use-proxy-link.ts'

type DeviceHeadProps = {
  deviceId: string
  /** `undefined` while the details load. The head then shows the id from the URL. */
  details: ActionOutput<'devices_GetDetails'> | undefined
  answeredAt: number
}

/** Head of a device's page: breadcrumb, name and connection state. */
export function DeviceHead({ deviceId, details, answeredAt }: DeviceHeadProps) {
  const name = details ? deviceNameText(details) : deviceId
  const connection = details?.connections[0]
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
      <div className="dhead">
        <div className="grow">
          <div className="row" style={{ flexWrap: 'wrap', gap: '6px 12px' }}>
            <h1 tabIndex={-1} className="any">
              {details ? <DeviceName {...details} /> : deviceId}
            </h1>
            {details && <StatusBadges deviceId={deviceId} isConnected={details.isConnected} />}
          </div>
          <div className="meta">
            <Id id={deviceId} what="device id" />
            {details?.isConnected && connection && (
              <span>
                Connected for <Elapsed secs={connection.connectedForSecs} answeredAt={answeredAt} />
                <AsOf /> via <span className="mono">{connection.nodeName ?? connection.nodeId}</span>
              </span>
            )}
            {details && (
              <span>
                First seen <Time at={details.firstSeen} />
              </span>
            )}
          </div>
        </div>
        <div className="row acts">
          <Stamp deviceId={deviceId} />
          <ProxyButton deviceId={deviceId} />
        </div>
      </div>
    </>
  )
}

/** Time of the last refresh of the page, or a warning that a part of the page could not be refreshed. */
function Stamp({ deviceId }: { deviceId: string }) {
  const queries = useQueries({ queries: deviceQueries(deviceId) })
  const age = ageOf(queries)
  useShortcut('r', 'Refresh', () => Promise.all(queries.map(({ refetch }) => refetch())))
  return age && <LiveStamp {...age} />
}

/** Button that opens the device's own web pages in a new window. */
function ProxyButton({ deviceId }: { deviceId: string }) {
  const { open, isPending } = useProxyLink(deviceId)
  return (
    <Button
      icon={ExternalLink}
      data-tip={`Link valid for ${PROXY_LINK_HOURS} hours`}
      busy={isPending}
      onClick={() => open()}
    >
      HTTP Proxy
    </Button>
  )
}
