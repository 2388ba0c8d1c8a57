import { useActionState } from '../../api/queries.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { LiveStamp } from '../../ui/app/LiveStamp.tsx'
import { Page, PageHead } from '../../ui/app/Page.tsx'
import { RefreshButton } from '../../ui/app/RefreshButton.tsx'
import { NodeTable } from './NodeTable.tsx'
import { RebalanceButton } from './RebalanceButton.tsx'

/** The nodes of the cluster. */
export function ClusterPage() {
  const { data, error, dataUpdatedAt, errorUpdatedAt, refetch } = useActionState('cluster_GetDetails', {})
  // If the first load failed, the route's error page is shown.
  if (error && !data) throw error
  return (
    <Page width="list">
      <PageHead title="Cluster" count={data?.nodes.length}>
        {data && <LiveStamp updatedAt={dataUpdatedAt} failedAt={errorUpdatedAt} />}
        <RefreshButton onRefresh={refetch} />
        {data && <RebalanceButton nodes={data.nodes} />}
      </PageHead>
      <ErrorAlert title="Could not load the nodes." error={error} />
      <NodeTable nodes={data?.nodes} formerNodes={data?.formerNodes ?? []} answeredAt={dataUpdatedAt} />
    </Page>
  )
}
