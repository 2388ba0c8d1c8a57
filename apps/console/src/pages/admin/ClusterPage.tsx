import { useActionState } from '../../api/queries.ts'
import { Alert } from '../../ui/Alert.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
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
      {error && (
        <div style={{ marginBottom: 12 }}>
          <Alert tone="bad" title="Could not load the nodes.">
            <ErrorText error={error} />
          </Alert>
        </div>
      )}
      <NodeTable nodes={data?.nodes} answeredAt={dataUpdatedAt} />
    </Page>
  )
}
