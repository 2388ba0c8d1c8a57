import type { ActionOutput } from '@muster/actions/client'
import { CircleCheck, CircleX, ClockAlert, LogOut } from 'lucide-react'
import { formatCount, formatDuration } from '../../lib/app/format.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { Unnamed } from '../../ui/app/Unnamed.tsx'
import { Elapsed } from '../../ui/lazy/Elapsed.tsx'
import { StateBadge, type StateLook } from '../../ui/lazy/StateBadge.tsx'
import { Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'

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
    <Table
      caption="Cluster nodes"
      columns={COLUMNS}
      bars={1}
      dense
      rows={
        nodes && [
          ...nodes.map(node => (
            <Row key={node.nodeId}>
              <Cell>
                <Id id={node.nodeId} what="node id" />
              </Cell>
              <Cell>{node.name ?? <Unnamed />}</Cell>
              <Cell>
                <span className="tabular">
                  <Elapsed secs={node.uptimeSecs} answeredAt={answeredAt} />
                </span>
              </Cell>
              <Cell>
                <StateBadge looks={LOOKS} state={node.state} />
              </Cell>
              <Cell>{node.version ?? <span className="muted">unknown</span>}</Cell>
              <Cell>
                <div className="pair">
                  <span className="tabular">{formatCount(node.connections ?? 0)}</span>
                  {node.release && <span className="muted">{releaseInWords(node.release)}</span>}
                </div>
              </Cell>
              <Cell>
                <NodeClock node={node} />
              </Cell>
            </Row>
          )),
          ...formerNodes.map(({ nodeId, name, state, endedAt }) => (
            <Row key={nodeId}>
              <Cell>
                <Id id={nodeId} what="node id" />
              </Cell>
              <Cell>{name}</Cell>
              <Cell>{NONE}</Cell>
              <Cell>
                <div className="pair">
                  <StateBadge looks={LOOKS} state={state} />
                  <Time at={endedAt} />
                </div>
              </Cell>
              <Cell>{NONE}</Cell>
              <Cell>{NONE}</Cell>
              <Cell>{NONE}</Cell>
            </Row>
          )),
        ]
      }
    />
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

const COLUMNS: readonly Column[] = [
  { name: 'Id' },
  { name: 'Name', kind: 'title' },
  { name: 'Uptime' },
  { name: 'State' },
  { name: 'Version' },
  { name: 'Devices' },
  { name: 'Clock' },
]
