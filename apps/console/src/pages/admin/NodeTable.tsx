import type { ActionOutput } from '@muster/actions/client'
import { Elapsed } from '../../ui/Elapsed.tsx'
import { Id } from '../../ui/Id.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { Cell, Row, Table } from '../../ui/Table.tsx'

type NodeTableProps = {
  /** Nothing while they load. */
  nodes: ActionOutput<'cluster_GetDetails'>['nodes'] | undefined
  /** When that was answered, in milliseconds. */
  answeredAt: number
}

/** The nodes of the cluster; their uptime goes on between answers. */
export function NodeTable({ nodes, answeredAt }: NodeTableProps) {
  return (
    <Table caption="Cluster nodes" head={HEAD} busy={!nodes} dense rowsOnPhones>
      {nodes?.map(({ nodeId, name, uptimeSecs }) => (
        <Row key={nodeId}>
          <Cell>
            <Id id={nodeId} what="node id" />
          </Cell>
          <Cell label="Name">{name ?? <span className="un">unnamed</span>}</Cell>
          <Cell label="Uptime">
            <span className="num">
              <Elapsed secs={uptimeSecs} answeredAt={answeredAt} />
            </span>
          </Cell>
        </Row>
      )) ?? <SkeletonRows columns={3} rows={1} />}
    </Table>
  )
}

const HEAD = (
  <tr>
    <th scope="col">Id</th>
    <th scope="col">Name</th>
    <th scope="col">Uptime</th>
  </tr>
)
