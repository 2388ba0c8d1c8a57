import type { CSSProperties } from 'react'
import { formatCount, formatMs } from '../../../lib/app/format.ts'
import { Id } from '../../../ui/app/Id.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { FoldButton } from '../../../ui/lazy/FoldButton.tsx'
import folding from '../../../ui/lazy/folding-rows.module.css'
import { MachineName } from '../../../ui/lazy/MachineName.tsx'
import { StateBadge } from '../../../ui/lazy/StateBadge.tsx'
import { Cell, type Column, Row } from '../../../ui/lazy/Table.tsx'
import styles from './JobsPage.module.css'
import { JOB_LOOKS, type Job } from './job.ts'
import { errorSentence, wordsOf } from './job-sentences.ts'

/** Columns of the jobs. The type takes the remaining width. */
export const JOB_COLUMNS: readonly Column[] = [
  { name: 'ID', widthPx: 164 },
  { name: 'Timestamp', widthPx: 132 },
  { name: 'Type' },
  { name: 'Queued', widthPx: 72 },
  { name: 'Status', widthPx: 120 },
  { name: 'Duration', widthPx: 84 },
  { name: 'Attempts', widthPx: 76 },
  { name: 'Last error or progress', widthPx: 216 },
]

type JobRowProps = { job: Job; isOpen: boolean; onOpen: () => void }

/** A job in the list. */
export function JobRow({ job, isOpen, onOpen }: JobRowProps) {
  const { jobId, createdAt, job: kind, queued, status, durationMs, attempts, retryLimit = 0 } = job
  const words = wordsOf(kind)?.name
  return (
    <Row>
      <Cell>
        <span className={folding.line}>
          <FoldButton label={`Details of ${jobId}`} isOpen={isOpen} onChange={onOpen} />
          <Id id={jobId} what="job id" cutMiddle />
        </span>
      </Cell>
      <Cell>
        <Time at={createdAt} />
      </Cell>
      <Cell>
        {words !== undefined && <span className={styles.words}>{words}</span>}
        <MachineName name={kind} />
      </Cell>
      <Cell>{queued ? 'Yes' : 'No'}</Cell>
      <Cell>
        <StateBadge looks={JOB_LOOKS} state={status} />
      </Cell>
      <Cell>
        <span className="tabular">{durationMs === undefined ? '–' : formatMs(durationMs)}</span>
      </Cell>
      <Cell>
        <span className="tabular">
          {attempts === 1 && status === 'Completed' ? 1 : `${attempts} of ${retryLimit + 1}`}
        </span>
      </Cell>
      <Cell>
        <LastOf job={job} />
      </Cell>
    </Row>
  )
}

function LastOf({ job }: { job: Job }) {
  const { progress } = job
  const error = errorSentence(job)
  if (progress === undefined || progress.total === 0 || (progress.done === progress.total && !error))
    return error && <span className={styles.last}>{error}</span>
  const { done, total } = progress
  return (
    <div className={styles.last}>
      <span className={`row ${styles.progress}`}>
        <i style={{ '--v': `${(100 * done) / total}%` } as CSSProperties} />
        <span className="tiny muted tabular">
          {formatCount(done)} of {formatCount(total)}
        </span>
      </span>
      {error}
    </div>
  )
}
