import { Link } from '@tanstack/react-router'
import type { CSSProperties } from 'react'
import { formatBytes, formatCount, formatPercent } from '../../../lib/app/format.ts'
import { Id } from '../../../ui/app/Id.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { Cell, Row, Table } from '../../../ui/app/Table.tsx'
import { Elapsed } from '../../../ui/lazy/Elapsed.tsx'
import type { HealthNode } from './health.ts'

/** Share of free space below which the bar is drawn as a warning. The hub adds the disk to the list of problems at the same share. */
const LOW_SHARE = 0.15

type NodesPanelProps = {
  nodes: readonly HealthNode[]
  /** Time at which the answer with `nodes` arrived, in milliseconds. */
  answeredAt: number
}

/** Running nodes with their versions, connections and disks. */
export function NodesPanel({ nodes, answeredAt }: NodesPanelProps) {
  return (
    <Section
      id="cluster-nodes"
      title="Cluster Nodes"
      padded={false}
      aside={
        <>
          <span className="grow" />
          <Link to="/admin/cluster" className="way">
            Cluster
          </Link>
        </>
      }
    >
      <Table caption="Cluster nodes" head={HEAD} dense rowsOnPhones bare>
        {nodes.map(({ nodeId, name, uptimeSecs, facts }) => (
          <Row key={nodeId}>
            <Cell>
              <Id id={nodeId} what="node id" />
            </Cell>
            <Cell label="Name">{name}</Cell>
            <Cell label="Uptime">
              <span className="num">
                <Elapsed secs={uptimeSecs} answeredAt={answeredAt} />
              </span>
            </Cell>
            <Cell label="Version">
              <span className="mono">{facts?.version ?? '–'}</span>
            </Cell>
            <Cell label="Connections">
              <span className="num">{facts ? formatCount(facts.connections) : '–'}</span>
            </Cell>
            <Cell label="Disk left">
              <DiskLeft facts={facts} />
            </Cell>
          </Row>
        ))}
      </Table>
    </Section>
  )
}

function DiskLeft({ facts }: Pick<HealthNode, 'facts'>) {
  if (!facts?.disk) return <>– {facts?.diskFailure ?? 'The node has not reported yet.'}</>
  const { freeBytes, totalBytes } = facts.disk
  const share = totalBytes === 0 ? 0 : freeBytes / totalBytes
  return (
    <span className={share < LOW_SHARE ? 'bar warn' : 'bar'}>
      <i style={{ '--v': formatPercent(share).replace(' ', '') } as CSSProperties} />
      <span className="num">
        {formatBytes(freeBytes)}, {formatPercent(share)}
      </span>
    </span>
  )
}

const HEAD = (
  <tr>
    <th scope="col">Id</th>
    <th scope="col">Name</th>
    <th scope="col">Uptime</th>
    <th scope="col">Version</th>
    <th scope="col">Connections</th>
    <th scope="col">Disk left</th>
  </tr>
)
