import type { CSSProperties } from 'react'
import { formatCount, formatMs } from '../../../lib/app/format.ts'
import { Cell, Row } from '../../../ui/app/Table.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { FoldButton } from '../../../ui/lazy/FoldButton.tsx'
import { IdTail } from '../../../ui/lazy/IdTail.tsx'
import { MachineName } from '../../../ui/lazy/MachineName.tsx'
import { StateBadge } from '../../../ui/lazy/StateBadge.tsx'
import { JOB_LOOKS, type Job } from './job.ts'
import { errorSentence, JOB_WORDS } from './job-words.ts'

type JobRowProps = { job: Job; isOpen: boolean; onOpen: () => void }

/** A job in the list. */
export function JobRow({ job, isOpen, onOpen }: JobRowProps) {
  const { jobId, createdAt, job: kind, queued, status, durationMs, attempts, retryLimit = 0 } = job
  const words = JOB_WORDS[kind]?.name
  return (
    <Row>
      <Cell label="ID">
        <span className="at">
          <FoldButton label={`Details of ${jobId}`} isOpen={isOpen} onChange={onOpen} />
          <IdTail id={jobId} what="job id" />
        </span>
      </Cell>
      <Cell label="Timestamp">
        <Time at={createdAt} />
      </Cell>
      <Cell label="Type">
        {words !== undefined && <span className="wd">{words}</span>}
        <MachineName name={kind} />
      </Cell>
      <Cell label="Queued">{queued ? 'Yes' : 'No'}</Cell>
      <Cell label="Status">
        <StateBadge looks={JOB_LOOKS} state={status} />
      </Cell>
      <Cell label="Duration">
        <span className="num">{durationMs === undefined ? '–' : formatMs(durationMs)}</span>
      </Cell>
      <Cell label="Attempts">
        <span className="num">
          {attempts === 1 && status === 'Completed' ? 1 : `${attempts} of ${retryLimit + 1}`}
        </span>
      </Cell>
      <Cell label="Last error or progress">
        <LastOf job={job} />
      </Cell>
    </Row>
  )
}

function LastOf({ job }: { job: Job }) {
  const { progress } = job
  const error = errorSentence(job)
  if (progress === undefined || progress.total === 0 || (progress.done === progress.total && !error))
    return error && <span className="lst">{error}</span>
  const { done, total } = progress
  return (
    <div className="lst">
      <span className="prog">
        <i style={{ '--v': `${(100 * done) / total}%` } as CSSProperties} />
        <span>
          {formatCount(done)} of {formatCount(total)}
        </span>
      </span>
      {error}
    </div>
  )
}
