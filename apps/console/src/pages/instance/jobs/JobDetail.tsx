import { Copy, RotateCw } from 'lucide-react'
import { useCommand } from '../../../api/queries.ts'
import { useNow } from '../../../lib/app/clock.ts'
import { counted, formatMs } from '../../../lib/app/format.ts'
import { atInWords, clockTime, sinceInWords, utcOffset } from '../../../lib/app/local-time.ts'
import { Id } from '../../../ui/app/Id.tsx'
import { toast, toastError } from '../../../ui/app/toast.ts'
import { Button } from '../../../ui/Button.tsx'
import shared from '../../../ui/lazy/details.module.css'
import { useCopy } from '../../../ui/use-copy.ts'
import { exactTimes } from '../../audit/shared/log-time.ts'
import styles from './JobDetail.module.css'
import { isFailed, type Job, type JobKind } from './job.ts'
import { comingTime, errorSentence, failureSentence, jobName, wordsOf } from './job-sentences.ts'

type JobDetailProps = { job: Job; kind: JobKind | undefined }

/** Unfolded details of a job: why it failed, its times, other runs of its kind, and the button that retries it. */
export function JobDetail({ job, kind }: JobDetailProps) {
  const { jobId, createdAt, startedAt, finishedAt, lastError, isRepeatable } = job
  const nowMs = useNow()
  const error = errorSentence(job)
  const failing = kind?.failing
  const isRow = isFailed(job)
  const isOneOfRow = isRow && failing !== undefined && finishedAt !== undefined && finishedAt >= failing.since
  const harm = wordsOf(job.job)?.harm
  return (
    <div className={shared.details}>
      {error !== undefined && (
        <p className={styles.cause}>
          <b>
            {isRow
              ? failureSentence(job.job, isOneOfRow && kind?.everySecs ? failing.since : undefined, nowMs)
              : `${jobName(job.job)}.`}
          </b>{' '}
          <bdi>{error}.</bdi> {isRow && harm}
        </p>
      )}
      <dl className={shared.facts}>
        <dt>ID</dt>
        <dd>
          <Id id={jobId} what="job id" />
        </dd>
        <dt>Timestamp</dt>
        <dd>
          <Moment at={createdAt} />
        </dd>
        {startedAt !== undefined && (
          <>
            <dt>Last attempt</dt>
            <dd>
              {clockTime(Date.parse(startedAt))}
              {finishedAt !== undefined && ` to ${clockTime(Date.parse(finishedAt))}`}, at most{' '}
              {formatMs(job.timeout * 1000)}
              {job.attempts > 1 && (
                <>
                  <br />
                  <span className="muted">
                    Attempt {job.attempts}. The times of earlier ones are not kept.
                  </span>
                </>
              )}
            </dd>
          </>
        )}
      </dl>
      <dl className={shared.facts}>
        {isOneOfRow && (
          <>
            <dt>Same kind</dt>
            <dd>
              <b>
                {counted(failing.count, 'run')} failed{' '}
                {failing.count === 1
                  ? atInWords(Date.parse(failing.since), nowMs)
                  : `since ${sinceInWords(Date.parse(failing.since), nowMs)}`}
              </b>
              {kind?.lastCompletedAt === undefined
                ? ', none succeeded in 48 hours'
                : `, the last success was ${atInWords(Date.parse(kind.lastCompletedAt), nowMs)}`}
            </dd>
          </>
        )}
        {kind?.usualMs !== undefined && (
          <>
            <dt>Usual time</dt>
            <dd>{formatMs(kind.usualMs)}</dd>
          </>
        )}
        {kind?.nextRunAt !== undefined && (
          <>
            <dt>Next run</dt>
            <dd>{comingTime(Date.parse(kind.nextRunAt), nowMs)}, automatically</dd>
          </>
        )}
      </dl>
      {(isRow || lastError !== undefined) && (
        <div className={shared.actions}>
          {isRow && isRepeatable && <RetryButton job={job} />}
          {isRow && !isRepeatable && <span className="muted">Jobs of this kind cannot be retried.</span>}
          {lastError !== undefined && <CopyError text={lastError} />}
        </div>
      )}
    </div>
  )
}

function Moment({ at }: { at: string }) {
  const { local, utc } = exactTimes(Date.parse(at))
  const offset = utcOffset(Date.parse(at))
  return (
    <>
      {local} <span className="muted">{offset}</span>
      {offset !== 'UTC' && (
        <>
          <br />
          <span className="muted">{utc} UTC</span>
        </>
      )}
    </>
  )
}

function RetryButton({ job: { jobId, job } }: { job: Job }) {
  const retry = useCommand('jobs_Retry', {
    invalidates: ['jobs_Query', 'jobs_GetSummary', 'instance_GetHealth'],
  })
  const act = async () => {
    try {
      const { result } = await retry.mutateAsync({ jobId })
      toast(
        result === 'Queued' ? `${jobName(job)}: queued again.` : `${jobName(job)}: it already waits or runs.`,
      )
    } catch (error) {
      toastError('Could not retry the job', error)
    }
  }
  return (
    <Button
      variant="primary"
      icon={RotateCw}
      busy={retry.isPending}
      busyLabel="Queueing…"
      onClick={() => void act()}
    >
      Retry now
    </Button>
  )
}

function CopyError({ text }: { text: string }) {
  const { state, copy } = useCopy(text)
  return (
    <Button variant="ghost" icon={Copy} onClick={() => void copy()}>
      {state === 'copied' ? 'Copied' : 'Copy error'}
    </Button>
  )
}
