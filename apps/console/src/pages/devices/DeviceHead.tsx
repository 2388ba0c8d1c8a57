import type { ActionOutput } from '@muster/actions/client'
import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ExternalLink } from 'lucide-react'
import { useCommand } from '../../api/queries.ts'
import { ageOf } from '../../lib/age.ts'
import { openIssued } from '../../lib/open-window.ts'
import { useShortcut } from '../../lib/shortcuts.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Breadcrumb } from '../../ui/Breadcrumb.tsx'
import { Button } from '../../ui/Button.tsx'
import { Elapsed } from '../../ui/Elapsed.tsx'
import { Id } from '../../ui/Id.tsx'
import { LiveStamp } from '../../ui/LiveStamp.tsx'
import { Mark } from '../../ui/Mark.tsx'
import { Time } from '../../ui/Time.tsx'
import { Title } from '../../ui/Title.tsx'
import { toastError } from '../../ui/toast.ts'
import { deviceQueries } from './device-queries.ts'

/** Life of a link to the web pages of a device, 2 hours (spec 9). */
const PROXY_LINK_SECS = 7_200

type DeviceHeadProps = {
  deviceId: string
  /** Absent while it loads: the id of the address stands in until then. */
  details: ActionOutput<'devices_GetDetails'> | undefined
  answeredAt: number
}

/** Where a device stands, its name and the state it is in. */
export function DeviceHead({ deviceId, details, answeredAt }: DeviceHeadProps) {
  const name = details ? (details.name ?? 'unnamed') : deviceId
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
              {name}
            </h1>
            {details && <ConnectionBadge isConnected={details.isConnected} />}
          </div>
          <div className="meta">
            <Id id={deviceId} what="device id" />
            {details?.isConnected && connection && (
              <span>
                Connected for <Elapsed secs={connection.connectedForSecs} answeredAt={answeredAt} /> via{' '}
                <span className="mono">{connection.nodeName ?? connection.nodeId}</span>
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

/** How old the page is, or that a part of it could not be refreshed. */
function Stamp({ deviceId }: { deviceId: string }) {
  const queries = useQueries({ queries: deviceQueries(deviceId) })
  const age = ageOf(queries)
  useShortcut('r', 'Refresh', () => Promise.all(queries.map(({ refetch }) => refetch())))
  return age && <LiveStamp {...age} />
}

/** Opens the device's own web pages: a fresh link at each click, in a window that the click opens. */
function ProxyButton({ deviceId }: { deviceId: string }) {
  const issue = useCommand('devices_IssueHttpProxyToken')

  async function openPages() {
    try {
      await openIssued(() => issue.mutateAsync({ deviceId, validForSecs: PROXY_LINK_SECS }))
    } catch (error) {
      toastError("Could not open the device's pages", error)
    }
  }

  return (
    <Button
      icon={ExternalLink}
      data-tip={`Link valid for ${PROXY_LINK_SECS / 3600} hours`}
      busy={issue.isPending}
      onClick={() => void openPages()}
    >
      HTTP Proxy
    </Button>
  )
}

function ConnectionBadge({ isConnected }: { isConnected: boolean }) {
  return (
    <Badge tone={isConnected ? 'ok' : 'neutral'}>
      <Mark state={isConnected ? 'on' : 'off'} />
      {isConnected ? 'Connected' : 'Disconnected'}
    </Badge>
  )
}
