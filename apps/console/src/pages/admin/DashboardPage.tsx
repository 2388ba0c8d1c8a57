import { useActionState } from '../../api/queries.ts'
import { ageOf } from '../../lib/app/age.ts'
import { LiveStamp } from '../../ui/app/LiveStamp.tsx'
import { Page, PageHead } from '../../ui/app/Page.tsx'
import { RefreshButton } from '../../ui/app/RefreshButton.tsx'
import { Stat, Stats } from '../../ui/app/Stats.tsx'
import { messageOf } from '../../ui/ErrorText.tsx'
import { NodeTable } from './NodeTable.tsx'

/** Dashboard with the numbers of devices, projects, users and cluster nodes, and the table of cluster nodes. */
export function DashboardPage() {
  const statistics = useActionState('instance_GetStatistics', {})
  const cluster = useActionState('cluster_GetDetails', {})
  // A count that could not be loaded shows its error. If no count could be loaded, the route's error page is shown.
  if (statistics.error && cluster.error && !statistics.data && !cluster.data) throw statistics.error
  const age = ageOf([statistics, cluster])
  const failure = statistics.error ? messageOf(statistics.error) : undefined
  return (
    <Page width="list">
      <PageHead title="Dashboard">
        {age && <LiveStamp {...age} />}
        <RefreshButton onRefresh={() => Promise.all([statistics.refetch(), cluster.refetch()])} />
      </PageHead>
      <Stats>
        <Stat label="Devices" value={statistics.data?.devices} failure={failure} />
        <Stat label="Projects" value={statistics.data?.projects} failure={failure} />
        <Stat label="Users" value={statistics.data?.users} failure={failure} />
        <Stat
          label="Cluster Nodes"
          value={cluster.data?.nodes.length}
          failure={cluster.error ? messageOf(cluster.error) : undefined}
        />
      </Stats>
      {(cluster.data || !cluster.error) && (
        <NodeTable nodes={cluster.data?.nodes} answeredAt={cluster.dataUpdatedAt} />
      )}
    </Page>
  )
}
