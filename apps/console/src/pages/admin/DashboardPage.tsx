import { useActionState } from '../../api/queries.ts'
import { ageOf } from '../../lib/age.ts'
import { messageOf } from '../../ui/ErrorText.tsx'
import { LiveStamp } from '../../ui/LiveStamp.tsx'
import { Page, PageHead } from '../../ui/Page.tsx'
import { RefreshButton } from '../../ui/RefreshButton.tsx'
import { Stat, Stats } from '../../ui/Stats.tsx'
import { NodeTable } from './NodeTable.tsx'

/** The instance in four numbers, and its nodes. */
export function DashboardPage() {
  const statistics = useActionState('instance_GetStatistics', {})
  const cluster = useActionState('cluster_GetDetails', {})
  // A counter that failed says so; with none of them to show the route's panel says what went wrong.
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
