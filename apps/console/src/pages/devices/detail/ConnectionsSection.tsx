import type { ActionOutput } from '@muster/actions/client'
import { useSuspenseQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { actionQuery } from '../../../api/queries.ts'
import { counted, formatCount, formatDuration } from '../../../lib/app/format.ts'
import { lookUp } from '../../../lib/app/look-up.ts'
import { Id } from '../../../ui/app/Id.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { Time, TimesTogether } from '../../../ui/app/Time.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Elapsed } from '../../../ui/lazy/Elapsed.tsx'
import { SectionBoundary } from '../../../ui/lazy/SectionBoundary.tsx'
import { connectionsQuery } from './device-queries.ts'
import shared from './sections.module.css'

type EndReason = NonNullable<ActionOutput<'devices_QueryConnections'>['connections'][number]['endReason']>

const ENDED_AT_FIRST = 10

const REASON: Record<EndReason, string> = {
  Unknown: 'Unknown',
  Disconnected: 'Disconnected',
  NodeCrashed: 'Node crashed',
  // The hub stopped, or moved the device to another node.
  ServerShutdown: 'The hub',
}

/** The open connections of a device, and its ended connections with the reason why each ended. */
export function ConnectionsSection({ deviceId }: { deviceId: string }) {
  return (
    <Section id="conn" title="Connections" padded={false}>
      <SectionBoundary what="connections">
        <OpenConnections deviceId={deviceId} />
        <UnregisteredLinks deviceId={deviceId} />
      </SectionBoundary>
      <SectionBoundary what="the connection history">
        <EndedConnections deviceId={deviceId} />
      </SectionBoundary>
    </Section>
  )
}

function OpenConnections({ deviceId }: { deviceId: string }) {
  const { data: details, dataUpdatedAt } = useSuspenseQuery(actionQuery('devices_GetDetails', { deviceId }))
  if (details.connections.length === 0) {
    return (
      <div className="inset">
        <p className="muted">
          {details.lastConnectedAt === undefined ? (
            'Never connected.'
          ) : (
            <>
              Not connected. Last connected <Time at={details.lastConnectedAt} />.
            </>
          )}
        </p>
      </div>
    )
  }
  return (
    <div className="bare">
      <table className="table" data-dense data-on-phones="rows">
        <caption className="visually-hidden">Open connections</caption>
        <thead>
          <tr>
            <th scope="col">Id</th>
            <th scope="col">Connected At</th>
            <th scope="col">Connected For</th>
            <th scope="col">Node</th>
          </tr>
        </thead>
        <tbody>
          <TimesTogether>
            {details.connections.map(({ connectionId, connectedAt, connectedForSecs, nodeId, nodeName }) => (
              <tr key={connectionId}>
                <td data-k="Id">
                  <Id id={connectionId} what="connection id" />
                </td>
                <td data-k="Connected At">
                  <Time at={connectedAt} />
                </td>
                <td className="tabular" data-k="Connected For">
                  <Elapsed secs={connectedForSecs} answeredAt={dataUpdatedAt} />
                </td>
                <td className="mono" data-k="Node">
                  <NodeName name={nodeName ?? nodeId} />
                </td>
              </tr>
            ))}
          </TimesTogether>
        </tbody>
      </table>
    </div>
  )
}

/**
 * Line with the number of a device's unregistered links: short connections that one-shot commands of the agent open in addition to the
 * permanent connection of the agent (docs/protocol.md 1.5, R-4).
 */
function UnregisteredLinks({ deviceId }: { deviceId: string }) {
  const { data } = useSuspenseQuery(actionQuery('devices_GetDetails', { deviceId }))
  const count = data.unregisteredLinks
  if (count === 0) return null
  return (
    <div className="inset">
      <p className="muted">
        {counted(count, 'unregistered link')} on this node, opened by one-shot commands of the agent.
      </p>
    </div>
  )
}

function EndedConnections({ deviceId }: { deviceId: string }) {
  const { data } = useSuspenseQuery(connectionsQuery(deviceId))
  const [isWhole, setWhole] = useState(false)
  const ended = data.connections.filter(({ endedAt }) => endedAt !== undefined)
  const shown = isWhole ? ended : ended.slice(0, ENDED_AT_FIRST)
  if (ended.length === 0) return null
  return (
    <>
      <div className="bare">
        <table className="table" data-dense data-on-phones="rows">
          <caption className={shared.caption}>History</caption>
          <thead>
            <tr>
              <th scope="col">Id</th>
              <th scope="col">Connected At</th>
              <th scope="col">Connected For</th>
              <th scope="col">Node</th>
              <th scope="col">Ended By</th>
            </tr>
          </thead>
          <tbody>
            <TimesTogether>
              {shown.map(({ connectionId, connectedAt, durationSecs, nodeId, nodeName, ...end }) => (
                <tr key={connectionId}>
                  <td data-k="Id">
                    <Id id={connectionId} what="connection id" />
                  </td>
                  <td data-k="Connected At">
                    <Time at={connectedAt} />
                  </td>
                  <td className="tabular" data-k="Connected For">
                    {formatDuration(durationSecs)}
                  </td>
                  <td className="mono" data-k="Node">
                    <NodeName name={nodeName ?? nodeId} />
                  </td>
                  <td data-k="Ended By">{reasonOf(end)}</td>
                </tr>
              ))}
            </TimesTogether>
          </tbody>
        </table>
      </div>
      {ended.length > shown.length && (
        <div className={shared.foot}>
          <Button variant="ghost" size="sm" onClick={() => setWhole(true)}>
            Show {formatCount(ended.length - shown.length)} older
          </Button>
        </div>
      )}
    </>
  )
}

type End = Pick<ActionOutput<'devices_QueryConnections'>['connections'][number], 'endReason' | 'wasTakenOver'>

function reasonOf({ endReason, wasTakenOver }: End): string {
  if (wasTakenOver) return 'Newer connection'
  return endReason === undefined ? REASON.Unknown : lookUp(REASON, endReason, endReason)
}

function NodeName({ name }: { name: string }) {
  return (
    <span
      className="truncated"
      style={{ display: 'inline-block', maxWidth: '16ch', verticalAlign: 'bottom' }}
    >
      {name}
    </span>
  )
}
