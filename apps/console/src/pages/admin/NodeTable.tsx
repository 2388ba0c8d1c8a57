import type { ActionOutput } from '@muster/actions/client'
import { Elapsed } from '../../ui/app/Elapsed.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Cell, Row, Table } from '../../ui/app/Table.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'

type NodeTableProps = {
  /** `undefined` while the nodes load. */
  nodes: ActionOutput<'cluster_GetDetails'>['nodes'] | undefined
  /** Time at which the answer with `nodes` arrived, in milliseconds. */
  answeredAt: number
}

/** Table of the cluster nodes. A timer advances the uptimes between two answers of the hub. */
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
