import { useActionState } from '../../api/queries.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { LiveStamp } from '../../ui/LiveStamp.tsx'
import { Page, PageHead } from '../../ui/Page.tsx'
import { RefreshButton } from '../../ui/RefreshButton.tsx'
import { NodeTable } from './NodeTable.tsx'

/** The processes that run the platform. */
export function ClusterPage() {
  const { data, error, dataUpdatedAt, errorUpdatedAt, refetch } = useActionState('cluster_GetDetails', {})
  // With nothing to show the route's panel says what went wrong.
  if (error && !data) throw error
  return (
    <Page width="list">
      <PageHead title="Cluster" count={data?.nodes.length}>
        {data && <LiveStamp updatedAt={dataUpdatedAt} failedAt={errorUpdatedAt} />}
        <RefreshButton onRefresh={refetch} />
      </PageHead>
      <ErrorAlert title="Could not load the nodes." error={error} />
      <NodeTable nodes={data?.nodes} answeredAt={dataUpdatedAt} />
    </Page>
  )
}
