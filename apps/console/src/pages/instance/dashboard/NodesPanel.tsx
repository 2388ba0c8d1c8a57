import { Link } from '@tanstack/react-router'
import { formatBytes, formatCount, formatPercent } from '../../../lib/app/format.ts'
import { Id } from '../../../ui/app/Id.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { Elapsed } from '../../../ui/lazy/Elapsed.tsx'
import { Cell, type Column, Row, Table } from '../../../ui/lazy/Table.tsx'
import { UsedBar } from '../../../ui/lazy/UsedBar.tsx'
import type { HealthNode } from './health.ts'
import styles from './panels.module.css'

/** Share of free space below which the bar is drawn as a warning. The hub adds the disk to the list of problems at the same share. */

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
          <Link to="/admin/cluster" className={styles.way}>
            Cluster
          </Link>
        </>
      }
    >
      <Table
        caption="Cluster nodes"
        columns={COLUMNS}
        dense
        bare
        rows={nodes.map(({ nodeId, name, uptimeSecs, facts }) => (
          <Row key={nodeId}>
            <Cell>
              <Id id={nodeId} what="node id" />
            </Cell>
            <Cell>{name}</Cell>
            <Cell>
              <span className="tabular">
                <Elapsed secs={uptimeSecs} answeredAt={answeredAt} />
              </span>
            </Cell>
            <Cell>
              <span className="mono">{facts?.version ?? '–'}</span>
            </Cell>
            <Cell>
              <span className="tabular">{facts ? formatCount(facts.connections) : '–'}</span>
            </Cell>
            <Cell>
              <DiskLeft facts={facts} />
            </Cell>
          </Row>
        ))}
      />
    </Section>
  )
}

function DiskLeft({ facts }: Pick<HealthNode, 'facts'>) {
  if (!facts?.disk) return <>– {facts?.diskFailure ?? 'The node has not reported yet.'}</>
  const { freeBytes, totalBytes } = facts.disk
  const share = totalBytes === 0 ? 0 : freeBytes / totalBytes
  return (
    <UsedBar freeShare={share}>
      {formatBytes(freeBytes)} ({formatPercent(share)})
    </UsedBar>
  )
}

const COLUMNS: readonly Column[] = [
  { name: 'Id' },
  { name: 'Name', kind: 'title' },
  { name: 'Uptime' },
  { name: 'Version' },
  { name: 'Connections' },
  { name: 'Disk left' },
]
