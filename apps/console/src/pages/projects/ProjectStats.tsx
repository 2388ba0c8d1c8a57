import { useQueries } from '@tanstack/react-query'
import { actionQuery } from '../../api/queries.ts'
import { counted } from '../../lib/app/format.ts'
import { Stat, Stats } from '../../ui/app/Stats.tsx'
import { messageOf } from '../../ui/ErrorText.tsx'
import { summaryInput } from './summary.ts'

/** Totals over the devices of all projects. `ProjectCard` uses the same queries, so the totals cause no further requests. */
export function ProjectStats({ projectIds }: { projectIds: string[] }) {
  const answers = useQueries({
    queries: projectIds.map(projectId => actionQuery('projects_GetSummary', summaryInput(projectId))),
  })

  const known = answers.map(({ data }) => data).filter(summary => summary !== undefined)
  const isComplete = known.length === answers.length
  const error = answers.find(({ data, error }) => !data && error)?.error
  const failure = error ? messageOf(error) : undefined
  const sum = (pick: (summary: (typeof known)[number]) => number) =>
    isComplete ? known.reduce((total, summary) => total + pick(summary), 0) : undefined
  const devices = sum(({ deviceCount }) => deviceCount)
  const connected = sum(({ connectedCount }) => connectedCount)
  const pending = sum(({ pendingCount }) => pendingCount)
  const pendingIn = known.filter(({ pendingCount }) => pendingCount > 0).length
  return (
    <Stats>
      <Stat label="Devices" value={devices} failure={failure} />
      <Stat
        label="Connected"
        mark="on"
        value={connected}
        failure={failure}
        note={devices && connected !== undefined ? `${Math.round((connected / devices) * 100)} %` : undefined}
      />
      <Stat
        label="Disconnected"
        mark="off"
        value={devices !== undefined && connected !== undefined ? devices - connected : undefined}
        failure={failure}
      />
      <Stat
        label="Pending certificates"
        mark="pending"
        value={pending}
        failure={failure}
        note={pending ? `in ${counted(pendingIn, 'project')}` : undefined}
      />
    </Stats>
  )
}
