import { Link } from '@tanstack/react-router'
import { OctagonAlert } from 'lucide-react'
import type { CSSProperties } from 'react'
import { useNow } from '../../../lib/app/clock.ts'
import { counted, formatCount, formatMs } from '../../../lib/app/format.ts'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Cell, type Column, Row, Table } from '../../../ui/lazy/Table.tsx'
import { isFailed, type JobKind } from './job.ts'
import { comingTime, intervalInWords, jobName } from './job-sentences.ts'
import styles from './KindsTable.module.css'

/** Kinds of jobs with their last runs, failing kinds first. */
export function KindsTable({ kinds }: { kinds: readonly JobKind[] }) {
  const nowMs = useNow()
  const sorted = kinds.toSorted(
    (a, b) =>
      Number(b.failing !== undefined) - Number(a.failing !== undefined) || b.failedCount - a.failedCount,
  )
  return (
    <section aria-labelledby="kinds-of-jobs">
      <div className={styles.head}>
        <h2 id="kinds-of-jobs">Kinds of jobs</h2>
        <span className="help">one mark a run, the newest on the right, height is its duration</span>
      </div>
      <Table
        caption="Kinds of jobs and their last runs"
        columns={COLUMNS}
        rows={sorted.map(({ job, everySecs, runs, failedCount, usualMs, nextRunAt }) => (
          <Row key={job}>
            <Cell>
              <Link to="/admin/jobs" search={{ type: job }} className="name">
                {jobName(job)}
              </Link>
            </Cell>
            <Cell>{intervalInWords(everySecs)}</Cell>
            <Cell>
              <Runs runs={runs} />
            </Cell>
            <Cell>
              {failedCount > 0 ? (
                <Badge tone="bad" icon={OctagonAlert}>
                  {formatCount(failedCount)} failed
                </Badge>
              ) : (
                <span className="muted">none</span>
              )}
            </Cell>
            <Cell>
              <span className="tabular">{usualMs === undefined ? '–' : formatMs(usualMs)}</span>
            </Cell>
            <Cell>
              <span className="tabular">
                {nextRunAt === undefined ? '–' : comingTime(Date.parse(nextRunAt), nowMs)}
              </span>
            </Cell>
          </Row>
        ))}
        dense
      />
    </section>
  )
}

/** Marks of the last runs. A failed run has the full height. The height of any other run grows with the square root of its duration. */
function Runs({ runs }: { runs: JobKind['runs'] }) {
  const failed = runs.filter(isFailed).length
  const longestMs = Math.max(1, ...runs.map(({ durationMs = 0 }) => durationMs))
  return (
    <div
      className={styles.runs}
      role="img"
      aria-label={
        runs.length === 0 ? 'No runs yet' : `${failed} of the last ${counted(runs.length, 'run')} failed`
      }
    >
      {runs.map((run, index) => (
        <b
          // biome-ignore lint/suspicious/noArrayIndexKey: a run has no identity but its position
          key={index}
          className={
            isFailed(run) ? styles.failed : run.status === 'Completed' ? undefined : styles.unfinished
          }
          style={
            {
              '--v': `${30 + Math.round(70 * Math.sqrt((run.durationMs ?? 0) / longestMs))}%`,
            } as CSSProperties
          }
        />
      ))}
    </div>
  )
}

const COLUMNS: readonly Column[] = [
  { name: 'Kind', kind: 'title' },
  { name: 'Runs' },
  { name: 'Last runs' },
  { name: 'Failed, 24 h' },
  { name: 'Usual time' },
  { name: 'Next run' },
]
