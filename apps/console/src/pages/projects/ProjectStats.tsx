import type { ActionOutput } from '@muster/actions/client'
import { useQueries } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { ArrowRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { actionQuery } from '../../api/queries.ts'
import { useNow } from '../../lib/app/clock.ts'
import { counted } from '../../lib/app/format.ts'
import { shortAge } from '../../lib/app/relative-time.ts'
import { messageOf } from '../../ui/ErrorText.tsx'
import { Stat, Stats } from '../../ui/lazy/Stats.tsx'
import type { DeviceSearch } from '../devices/shared/device-search.ts'
import type { ProjectState } from './project-states.ts'
import { type Summary, summaryInput } from './summary.ts'

/** Counts of devices in all projects by state, and per state the number of projects that have devices in it. */
export type ProjectTotals = NonNullable<ActionOutput<'organizations_QueryProjects'>['totals']>

type FreshStatsProps = { projectIds: string[] }

/** Totals of few projects from their summaries. `ProjectCard` uses the same queries, so the totals cause no further requests. */
export function FreshProjectStats({ projectIds }: FreshStatsProps) {
  const answers = useQueries({
    queries: projectIds.map(projectId => actionQuery('projects_GetSummary', summaryInput(projectId))),
  })
  const known = answers.map(({ data }) => data).filter(summary => summary !== undefined)
  const error = answers.find(({ data, error }) => !data && error)?.error
  return (
    <ProjectStats
      totals={known.length === answers.length ? totalsOf(known) : undefined}
      summaries={known}
      failure={error ? messageOf(error) : undefined}
    />
  )
}

function totalsOf(summaries: readonly Summary[]): ProjectTotals {
  const sum = (pick: (summary: Summary) => number | undefined) =>
    summaries.reduce((total, summary) => total + (pick(summary) ?? 0), 0)
  return {
    deviceCount: sum(({ deviceCount }) => deviceCount),
    connectedCount: sum(({ connectedCount }) => connectedCount),
    warningCount: sum(({ warningCount }) => warningCount),
    errorCount: sum(({ errorCount }) => errorCount),
    pendingCount: sum(({ pendingCount }) => pendingCount),
    warningProjects: summaries.filter(({ warningCount = 0 }) => warningCount > 0).length,
    errorProjects: summaries.filter(({ errorCount = 0 }) => errorCount > 0).length,
    pendingProjects: summaries.filter(({ pendingCount }) => pendingCount > 0).length,
  }
}

type ProjectStatsProps = {
  /** Undefined while the counts load. */
  totals: ProjectTotals | undefined
  /** The summaries from which the totals were made, for links to the devices of a single project. */
  summaries?: readonly Summary[]
  failure?: string | undefined
}

/**
 * Counts of devices in all projects by state. Each count links to the projects with devices in the state, or to the devices if only one
 * project has any.
 */
export function ProjectStats({ totals, summaries = [], failure }: ProjectStatsProps) {
  const { deviceCount: devices, connectedCount: connected, errorProjects, warningProjects } = totals ?? {}
  const disconnected = devices !== undefined && connected !== undefined ? devices - connected : undefined
  const inProjects = (count: number | undefined) => (count ? `in ${counted(count, 'project')}` : undefined)
  const to = (state: ProjectState) => (label: ReactNode) => (
    <StateLink state={state} summaries={summaries}>
      {label}
    </StateLink>
  )
  return (
    <Stats six>
      <Stat
        label="Devices"
        value={devices}
        failure={failure}
        note={totals?.countedAt && <StoredAge at={totals.countedAt} />}
        link={label => (
          <Link from="/org_{$organization}/projects" to="." search={{ sort: '-devices' }}>
            {label}
            <ArrowRight className="icon small-icon" aria-hidden />
          </Link>
        )}
      />
      <Stat
        label="Connected"
        mark="on"
        value={connected}
        failure={failure}
        note={devices && connected !== undefined ? `${Math.round((connected / devices) * 100)} %` : undefined}
        link={to('connected')}
      />
      <Stat
        label="Disconnected"
        mark="off"
        value={disconnected}
        failure={failure}
        link={to('disconnected')}
      />
      <Stat
        label="Error"
        mark="error"
        value={totals?.errorCount}
        failure={failure}
        note={inProjects(errorProjects)}
        link={to('error')}
      />
      <Stat
        label="Warning"
        mark="warning"
        value={totals?.warningCount}
        failure={failure}
        note={inProjects(warningProjects)}
        link={to('warning')}
      />
      <Stat
        label="Pending certificates"
        mark="pending"
        value={totals?.pendingCount}
        failure={failure}
        note={inProjects(totals?.pendingProjects)}
        link={to('pending')}
      />
    </Stats>
  )
}

/** Age of stored counts that are older than 10 s. It is an upper bound, because the counts of a project are stored every 10 minutes. */
function StoredAge({ at }: { at: string }) {
  const nowMs = useNow()
  const atMs = Date.parse(at)
  return nowMs - atMs > OLD_MS && <span>up to {shortAge(atMs, nowMs)} old</span>
}

/** Age, in milliseconds, from which counts show their age. */
const OLD_MS = 10_000

const DEVICES_IN: Record<ProjectState, { search: DeviceSearch; countOf: (summary: Summary) => number }> = {
  connected: { search: { status: 'connected' }, countOf: ({ connectedCount }) => connectedCount },
  disconnected: {
    search: { status: 'disconnected' },
    countOf: ({ deviceCount, connectedCount }) => deviceCount - connectedCount,
  },
  error: { search: { show: 'error' }, countOf: ({ errorCount = 0 }) => errorCount },
  warning: { search: { show: 'warning' }, countOf: ({ warningCount = 0 }) => warningCount },
  pending: { search: { show: 'pending' }, countOf: ({ pendingCount }) => pendingCount },
}

type StateLinkProps = { state: ProjectState; summaries: readonly Summary[]; children: ReactNode }

function StateLink({ state, summaries, children }: StateLinkProps) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}' })
  const { search, countOf } = DEVICES_IN[state]
  const [project, another] = summaries.filter(summary => countOf(summary) > 0)
  const content = (
    <>
      {children}
      <ArrowRight className="icon small-icon" aria-hidden />
    </>
  )
  if (!project || another)
    return (
      <Link from="/org_{$organization}/projects" to="." search={{ state }}>
        {content}
      </Link>
    )
  return (
    <Link
      to="/org_{$organization}/projects/$projectId/devices"
      params={{ organization, projectId: project.projectId }}
      search={search}
    >
      {content}
    </Link>
  )
}
