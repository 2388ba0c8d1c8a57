import type { ActionOutput } from '@muster/actions/client'
import { CircleCheck, CircleX, ClockAlert, LogOut } from 'lucide-react'
import { formatCount, formatDuration } from '../../lib/app/format.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Cell, Row, Table } from '../../ui/app/Table.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { Elapsed } from '../../ui/lazy/Elapsed.tsx'
import { StateBadge, type StateLook } from '../../ui/lazy/StateBadge.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'

type Details = ActionOutput<'cluster_GetDetails'>
type NodeTableProps = {
  /** `undefined` while the nodes load. */
  nodes: Details['nodes'] | undefined
  /** Nodes that left the cluster or died in the last 24 h. */
  formerNodes?: Details['formerNodes']
  /** Time at which the answer with `nodes` arrived, in milliseconds. */
  answeredAt: number
}

const LOOKS: Record<Details['nodes'][number]['state'] | Details['formerNodes'][number]['state'], StateLook> =
  {
    Running: { tone: 'ok', icon: CircleCheck },
    Draining: { tone: 'warn', icon: LogOut },
    Dead: { tone: 'bad', icon: CircleX },
    Left: { tone: 'neutral', icon: LogOut },
  }

/**
 * Table of the cluster nodes, running nodes first. A timer advances the uptimes between two answers of the hub.
 */
export function NodeTable({ nodes, formerNodes = [], answeredAt }: NodeTableProps) {
  return (
    <Table caption="Cluster nodes" head={HEAD} busy={!nodes} dense rowsOnPhones>
      {nodes?.map(node => (
        <Row key={node.nodeId}>
          <Cell>
            <Id id={node.nodeId} what="node id" />
          </Cell>
          <Cell label="Name">{node.name ?? <span className="un">unnamed</span>}</Cell>
          <Cell label="Uptime">
            <span className="num">
              <Elapsed secs={node.uptimeSecs} answeredAt={answeredAt} />
            </span>
          </Cell>
          <Cell label="State">
            <StateBadge looks={LOOKS} state={node.state} />
          </Cell>
          <Cell label="Version">{node.version ?? <span className="muted">unknown</span>}</Cell>
          <Cell label="Devices">
            <div className="pair">
              <span className="num">{formatCount(node.connections ?? 0)}</span>
              {node.release && <span className="muted">{releaseInWords(node.release)}</span>}
            </div>
          </Cell>
          <Cell label="Clock">
            <NodeClock node={node} />
          </Cell>
        </Row>
      )) ?? <SkeletonRows columns={7} rows={1} />}
      {formerNodes.map(({ nodeId, name, state, endedAt }) => (
        <Row key={nodeId}>
          <Cell>
            <Id id={nodeId} what="node id" />
          </Cell>
          <Cell label="Name">{name}</Cell>
          <Cell label="Uptime">{NONE}</Cell>
          <Cell label="State">
            <div className="pair">
              <StateBadge looks={LOOKS} state={state} />
              <Time at={endedAt} />
            </div>
          </Cell>
          <Cell label="Version">{NONE}</Cell>
          <Cell label="Devices">{NONE}</Cell>
          <Cell label="Clock">{NONE}</Cell>
        </Row>
      ))}
    </Table>
  )
}

function NodeClock({ node: { clockAheadMs = 0, isClockWrong } }: { node: Details['nodes'][number] }) {
  if (!isClockWrong) return <span className="muted">in step</span>
  const secs = Math.round(Math.abs(clockAheadMs) / 1000)
  return (
    <Badge tone="warn" icon={ClockAlert}>
      {formatDuration(secs)} {clockAheadMs > 0 ? 'ahead' : 'behind'}
    </Badge>
  )
}

function releaseInWords({ total, done, leftSecs }: NonNullable<Details['nodes'][number]['release']>): string {
  return `released ${formatCount(done)} of ${formatCount(total)}, ${formatDuration(leftSecs)} left`
}

const NONE = '–'

const HEAD = (
  <tr>
    <th scope="col">Id</th>
    <th scope="col">Name</th>
    <th scope="col">Uptime</th>
    <th scope="col">State</th>
    <th scope="col">Version</th>
    <th scope="col">Devices</th>
    <th scope="col">Clock</th>
  </tr>
)
