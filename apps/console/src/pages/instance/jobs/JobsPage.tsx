import { MAX_SUMMARIZED_JOBS } from '@muster/actions/client'
import { Workflow } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { useActionPages, useActionState } from '../../../api/queries.ts'
import { formatCount } from '../../../lib/app/format.ts'
import { anyText, oneOf, usePageSearch } from '../../../lib/app/search.ts'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { useToggled } from '../../../lib/app/use-toggled.ts'
import { EmptyState } from '../../../ui/app/EmptyState.tsx'
import { ListPage } from '../../../ui/app/ListPage.tsx'
import { NoMatch } from '../../../ui/app/NoMatch.tsx'
import { Segments } from '../../../ui/app/Segments.tsx'
import folding from '../../../ui/lazy/folding-rows.module.css'
import { SuggestBox } from '../../../ui/lazy/SuggestBox.tsx'
import { Table, WideRow } from '../../../ui/lazy/Table.tsx'
import { TimePick } from '../../audit/shared/TimePick.tsx'
import { MOVING, type Moving, type TimeSearch, timeFilter } from '../../audit/shared/time-range.ts'
import { AdminCrumb } from '../AdminCrumb.tsx'
import { JobDetail } from './JobDetail.tsx'
import { JOB_COLUMNS, JobRow } from './JobRow.tsx'
import styles from './JobsPage.module.css'
import { JOB_LOOKS, type Job } from './job.ts'
import { KindsTable } from './KindsTable.tsx'

const PAGE_SIZE = 100
const STATUSES = Object.keys(JOB_LOOKS) as Job['status'][]
/** Interval at which the list is loaded again while a job on screen runs, in milliseconds. */
const RUNNING_REFRESH_MS = 3_000

/** Search parameters of the list of jobs. */
export const jobsSearch = {
  // Kind of job.
  type: anyText,
  status: oneOf(['all', ...STATUSES], 'all'),
  // A range that ends now; `all` for the range of `from` and `to`, and without these for any time.
  time: oneOf([...(Object.keys(MOVING) as Moving[]), 'all'], 'day'),
  from: anyText,
  to: anyText,
  order: oneOf(['problems', 'time'], 'problems'),
  // Id of the job whose details are open at first.
  job: anyText,
}

/** Background jobs of the hub, by default with problems first, and the last runs of each kind of job. */
export function JobsPage() {
  const [search, change] = usePageSearch(jobsSearch)
  const [open, toggle] = useToggled(search.job)
  const filters = useRef<HTMLDivElement>(null)
  useShortcut('/', 'Filter by type', () => filters.current?.querySelector('input')?.focus())
  const status = search.status === 'all' ? undefined : search.status
  const times: TimeSearch =
    search.time === 'all' ? { from: search.from, to: search.to } : { time: search.time }
  const isDay = times.time === 'day'
  const isAnyTime = !Object.values(times).some(Boolean)
  const isByTime = search.order === 'time'
  const list = useActionPages('jobs_Query', {
    limit: PAGE_SIZE,
    ...(!isByTime && { sort: '-problems' as const }),
    filter: {
      ...(search.type && { job: search.type }),
      ...(status && { statuses: [status] }),
      ...timeFilter(times),
    },
  })
  const summary = useActionState('jobs_GetSummary', {})
  const tookTooLong = summary.data?.tookTooLong
  const kinds = tookTooLong ? undefined : summary.data?.kinds
  const jobs = list.data?.pages.flatMap(page => page.jobs)
  const isAnyRunning = jobs?.some(job => job.status === 'Pending' && !isLater(job)) ?? false
  const { refetch, dataUpdatedAt } = list
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer starts the next wait
  useEffect(() => {
    if (!isAnyRunning) return
    const timer = setTimeout(() => {
      if (document.visibilityState === 'visible') void refetch()
    }, RUNNING_REFRESH_MS)
    return () => clearTimeout(timer)
  }, [isAnyRunning, refetch, dataUpdatedAt])
  // The hub reads the newest jobs of 48 hours, up to a limit. Below the limit it has read them all, so its counts for 24 hours are exact.
  const isExact = !tookTooLong && summary.data && summary.data.total < MAX_SUMMARIZED_JOBS
  const counts = isDay && !search.type && isExact ? summary.data : undefined
  return (
    <ListPage
      crumb={<AdminCrumb here="Jobs" />}
      title="Jobs"
      what="jobs"
      list={list}
      shown={jobs?.length}
      below={kinds && <KindsTable kinds={kinds} />}
    >
      <div ref={filters} className={`tools ${styles.tools}`}>
        <SuggestBox
          value={search.type ?? ''}
          options={[...new Set([...(kinds ?? []), ...(jobs ?? [])].map(({ job }) => job))].sort()}
          onChange={type => change({ type })}
          label="Filter by type"
          placeholder="Type"
        />
        <Segments
          label="Status"
          value={search.status}
          options={[
            { value: 'all', label: 'All', count: counts?.total },
            ...STATUSES.map(one => ({ value: one, label: one, count: counts?.counts[one] })),
          ]}
          onChange={value => change({ status: value })}
        />
        <TimePick
          search={times}
          what="jobs"
          hasHours={false}
          onChange={({ time, from, to }) => change({ time: time ?? 'all', from, to })}
        />
        <label className="check">
          <input
            type="checkbox"
            checked={!isByTime}
            onChange={event => change({ order: event.target.checked ? 'problems' : 'time' })}
          />
          <span>Problems first</span>
        </label>
      </div>
      {jobs?.length === 0 && !search.type && !status && isAnyTime && !list.isPlaceholderData ? (
        <EmptyState icon={Workflow} title="No jobs yet." />
      ) : (
        <div className={`${folding.rows} ${styles.jobs}`}>
          <Table
            caption={isByTime ? 'Jobs, newest first' : 'Jobs, problems first, then newest first'}
            columns={JOB_COLUMNS}
            dense
            rows={jobs?.flatMap(job => [
              <JobRow
                key={job.jobId}
                job={job}
                isOpen={open.has(job.jobId)}
                onOpen={() => toggle(job.jobId)}
              />,
              open.has(job.jobId) && (
                <WideRow key={`details of ${job.jobId}`} detail>
                  <JobDetail job={job} kind={kinds?.find(kind => kind.job === job.job)} />
                </WideRow>
              ),
            ])}
            none={
              <NoMatch
                what="jobs"
                none={
                  status && isDay && !search.type
                    ? `No ${status.toLowerCase()} jobs in the last 24 hours.`
                    : undefined
                }
                onClear={() => change({ type: '', status: '', time: 'all', from: '', to: '' })}
              />
            }
          />
        </div>
      )}
      {summary.data?.isCut && (
        <p className="muted">
          More than {formatCount(MAX_SUMMARIZED_JOBS)} jobs in 48 hours: the kinds below show the newest ones.
        </p>
      )}
      {tookTooLong && <p className="muted">The kinds of jobs could not be summarized within 2 s.</p>}
    </ListPage>
  )
}

/** Whether a job's next attempt is so far away that the list need not be loaded every `RUNNING_REFRESH_MS` for it. */
function isLater({ nextAttemptAt }: Job): boolean {
  return nextAttemptAt !== undefined && Date.parse(nextAttemptAt) > Date.now() + RUNNING_REFRESH_MS
}
