import { Link } from '@tanstack/react-router'
import { ArrowRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { ageOf } from '../../../lib/app/age.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { LiveStamp } from '../../../ui/app/LiveStamp.tsx'
import { Page, PageHead } from '../../../ui/app/Page.tsx'
import { RefreshButton } from '../../../ui/app/RefreshButton.tsx'
import { Settled } from '../../../ui/app/Settled.tsx'
import { messageOf } from '../../../ui/ErrorText.tsx'
import { SheetSkeleton } from '../../../ui/lazy/SheetSkeleton.tsx'
import { Stat, Stats } from '../../../ui/lazy/Stats.tsx'
import { NodeTable } from '../NodeTable.tsx'
import { CertificatesPanel } from './CertificatesPanel.tsx'
import styles from './DashboardPage.module.css'
import { DatabasePanel } from './DatabasePanel.tsx'
import { EventsPanel } from './EventsPanel.tsx'
import { JobsPanel } from './JobsPanel.tsx'
import { NeedsAttention } from './NeedsAttention.tsx'
import { NodesPanel } from './NodesPanel.tsx'
import { VersionPanel } from './VersionPanel.tsx'

/** Dashboard: problems, counters of the instance, events, database, nodes, versions and certificates. */
export function DashboardPage() {
  const statistics = useActionState('instance_GetStatistics', {})
  const cluster = useActionState('cluster_GetDetails', {})
  const health = useActionState('instance_GetHealth', {})
  // A count that could not be loaded shows its error. If no count could be loaded, the route's error page is shown.
  if (statistics.error && cluster.error && !statistics.data && !cluster.data) throw statistics.error
  const age = ageOf([statistics, cluster, health])
  const failure = statistics.error ? messageOf(statistics.error) : undefined
  const { nodes, people, events, database, seals, jobs, backup } = health.data ?? {}
  const reports = nodes?.value?.flatMap(({ facts }) => facts ?? [])
  const connected = reports?.reduce((sum, { connections }) => sum + connections, 0)
  return (
    <Page width="list">
      <PageHead title="Dashboard">
        <LiveStamp {...(age ?? { updatedAt: 0 })} />
        <RefreshButton
          onRefresh={() => Promise.all([statistics.refetch(), cluster.refetch(), health.refetch()])}
        />
      </PageHead>
      <Settled
        label="Loading dashboard"
        skeleton={
          <>
            <SheetSkeleton heightPx={92} />
            <div className={styles.two}>
              <SheetSkeleton heightPx={240} />
              <SheetSkeleton heightPx={240} />
            </div>
            <SheetSkeleton heightPx={200} />
          </>
        }
      >
        <ErrorAlert title="Could not load the health of the hub." error={health.error} />
        {health.data && <NeedsAttention problems={health.data.problems} answeredAt={health.dataUpdatedAt} />}
        <Stats>
          <Stat
            label="Devices"
            value={statistics.data?.devices}
            failure={failure}
            note={connected === undefined ? undefined : `${formatCount(connected)} connected`}
            link={leadTo('/admin/projects')}
          />
          <Stat
            label="Projects"
            value={statistics.data?.projects}
            failure={failure}
            note={people?.value && `in ${counted(people.value.organizations, 'organization')}`}
            link={leadTo('/admin/projects')}
          />
          <Stat
            label="Users"
            value={statistics.data?.users}
            failure={failure}
            note={people?.value && counted(people.value.administrators, 'administrator')}
            link={leadTo('/admin/users')}
          />
          <Stat
            label="Cluster Nodes"
            value={cluster.data?.nodes.length}
            failure={cluster.error ? messageOf(cluster.error) : undefined}
            link={leadTo('/admin/cluster')}
          />
        </Stats>
        {events && database && (
          <div className={styles.two}>
            <EventsPanel part={events} />
            <DatabasePanel part={database} />
          </div>
        )}
        {nodes?.value ? (
          <NodesPanel nodes={nodes.value} answeredAt={health.dataUpdatedAt} />
        ) : (
          (cluster.data || !cluster.error) && (
            <NodeTable nodes={cluster.data?.nodes} answeredAt={cluster.dataUpdatedAt} />
          )
        )}
        {nodes && database && seals && jobs && backup && (
          <div className={styles.three}>
            <VersionPanel nodes={nodes} database={database} seals={seals} backup={backup} />
            <CertificatesPanel nodes={nodes} />
            <JobsPanel jobs={jobs} />
          </div>
        )}
      </Settled>
    </Page>
  )
}

/** Wraps the label of a number in a link to a page. The whole cell is the click target. */
function leadTo(to: '/admin/projects' | '/admin/users' | '/admin/cluster') {
  return (label: ReactNode) => (
    <Link to={to} className={styles.link}>
      {label}
      <ArrowRight className="icon small-icon" aria-hidden />
    </Link>
  )
}
