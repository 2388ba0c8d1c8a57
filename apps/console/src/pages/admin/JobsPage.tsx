import type { ActionOutput } from '@muster/actions/client'
import { getRouteApi } from '@tanstack/react-router'
import { Ban, CircleCheck, Clock, Hourglass, OctagonAlert, Workflow } from 'lucide-react'
import { useActionPages } from '../../api/queries.ts'
import { useChangeSearch } from '../../lib/app/search.ts'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { ListTable } from '../../ui/app/ListTable.tsx'
import { MachineName } from '../../ui/app/MachineName.tsx'
import { Segments } from '../../ui/app/Segments.tsx'
import { StateBadge, type StateLook } from '../../ui/app/StateBadge.tsx'
import { Cell, Row } from '../../ui/app/Table.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { SuggestBox } from '../../ui/lazy/SuggestBox.tsx'
import { LOG_PAGE_SIZE } from '../audit/audit-params.ts'

type Job = ActionOutput<'jobs_Query'>['jobs'][number]
type Status = Job['status']
type JobSearch = { type?: string; status?: string }

const LOOKS: Record<Status, StateLook> = {
  Pending: { tone: 'warn', icon: Clock },
  Completed: { tone: 'ok', icon: CircleCheck },
  Failed: { tone: 'bad', icon: OctagonAlert },
  Expired: { tone: 'neutral', icon: Hourglass },
  Cancelled: { tone: 'neutral', icon: Ban },
}

const STATUSES = Object.keys(LOOKS) as Status[]
const SEGMENTS = [
  { value: 'all', label: 'All' },
  ...STATUSES.map(status => ({ value: status, label: status })),
] as const

const route = getRouteApi('/authenticated/admin/jobs')

/** Background jobs of the hub. */
export function JobsPage() {
  const search = route.useSearch()
  const change = useChangeSearch<JobSearch>()
  const status = STATUSES.find(one => one === search.status)
  const list = useActionPages('jobs_Query', {
    limit: LOG_PAGE_SIZE,
    filter: { ...(search.type && { job: search.type }), ...(status && { statuses: [status] }) },
  })
  const jobs = list.data?.pages.flatMap(page => page.jobs)
  const isFiltered = search.type !== undefined || status !== undefined
  return (
    <ListPage title="Jobs" what="jobs" list={list} shown={jobs?.length}>
      <div className="tools">
        <SuggestBox
          value={search.type ?? ''}
          options={[...new Set(jobs?.map(({ job }) => job))].sort()}
          onChange={type => change({ type })}
          label="Filter by type"
          placeholder="Type"
        />
        <Segments
          label="Status"
          value={status ?? 'all'}
          options={SEGMENTS}
          onChange={value => change({ status: value === 'all' ? '' : value })}
        />
      </div>
      {jobs?.length === 0 && !isFiltered && !list.isPlaceholderData ? (
        <EmptyState icon={Workflow} title="No jobs yet." />
      ) : (
        <ListTable
          caption="Jobs"
          what="jobs"
          columns={5}
          dense
          head={HEAD}
          rows={jobs?.map(job => <JobRow key={job.jobId} job={job} />)}
          onClear={() => change({ type: '', status: '' })}
        />
      )}
    </ListPage>
  )
}

const HEAD = (
  <tr>
    <th scope="col">ID</th>
    <th scope="col">Timestamp</th>
    <th scope="col">Type</th>
    <th scope="col">Queued</th>
    <th scope="col">Status</th>
  </tr>
)

function JobRow({ job: { jobId, createdAt, job, queued, status } }: { job: Job }) {
  return (
    <Row>
      <Cell>
        <Id id={jobId} what="job id" />
      </Cell>
      <Cell label="Timestamp">
        <Time at={createdAt} />
      </Cell>
      <Cell label="Type">
        <MachineName name={job} />
      </Cell>
      <Cell label="Queued">{queued ? 'Yes' : 'No'}</Cell>
      <Cell label="Status">
        <StateBadge looks={LOOKS} state={status} />
      </Cell>
    </Row>
  )
}
