import { newDatedId } from '@muster/actions'
import { waitUpTo } from '@muster/concurrency'
import type pg from 'pg'
import { fromKysely, PgBoss, type SendOptions } from 'pg-boss'
import { isConnectionError, markSocketError } from '../database/client/errors.ts'
import type { Logger } from '../runtime/log.ts'
import type { JobData, JobName, Jobs } from './jobs.ts'
import { type JobKind, jobKinds } from './kinds.ts'

/** Running attempt of a job. */
export type RunningJob = {
  jobId: string
  /** Aborts when the deadline of the attempt passes or the hub stops. */
  signal: AbortSignal
}

/** Runs one attempt of a job. After an error the job is retried, except after `PermanentFailure`, which ends the job. */
type RunJob = <N extends JobName>(name: N, data: JobData[N], job: RunningJob) => Promise<void>

/** Error that ends a job without further attempts. */
export class PermanentFailure extends Error {
  override readonly name = 'PermanentFailure'
}

/**
 * Job queue of a node. Disposal waits up to `drainTimeoutMs` for running jobs. Jobs that still run after that return to the queue, for
 * another attempt.
 */
export type JobQueue = AsyncDisposable &
  Jobs & {
    /** Starts a worker for each kind of job on this node, and queues the recurring jobs. */
    work(run: RunJob): Promise<void>
  }

type QueueOptions = {
  pool: pg.Pool
  log: Logger
  /** Maximum time for which disposal waits for running jobs, in milliseconds. */
  drainTimeoutMs: number
  kinds?: Record<string, JobKind>
  /** Interval in seconds at which jobs beyond their deadline are ended and recurring jobs are queued. */
  upkeepSecs?: number
}

/**
 * Poll interval of a worker in seconds. Jobs queued by this node wake it immediately; polling finds retries and jobs of other nodes.
 */
const POLL_SECS = 5
/** Poll interval for recurring jobs in seconds. */
const RECURRING_POLL_SECS = 60
/** Time for which finished jobs are kept for the list of jobs, in seconds. */
const KEEP_SECS = 30 * 24 * 60 * 60

/** Opens the job queue on the hub's connection pool. `installQueue` must have created its schema. */
export async function openQueue({
  pool,
  log,
  drainTimeoutMs,
  kinds = jobKinds(),
  upkeepSecs = 30,
}: QueueOptions): Promise<JobQueue> {
  const boss = new PgBoss({
    // pg-boss passes an empty list of parameters with a text of several SQL statements. PostgreSQL accepts several statements only
    // without parameters, so an empty list is omitted.
    db: { executeSql: (text, values) => pool.query(text, values?.length ? values : undefined) },
    // The hub's database role does not own the tables, so it cannot migrate them.
    migrate: false,
    reindex: false,
    schedule: false,
    superviseIntervalSeconds: upkeepSecs,
    monitorIntervalSeconds: upkeepSecs,
    maintenanceIntervalSeconds: 60 * 60,
    // Interval at which pg-boss looks for jobs that depend on other jobs. It is long, because no job of the hub depends on another job.
    flowIntervalSeconds: 60 * 60,
  })
  boss.on('error', error => log.warn({ err: queueError(error) }, 'the job queue failed'))
  boss.on('warning', ({ message, data }) => log.warn({ data }, message))
  await boss.start()

  const workers = new Map<string, string>()
  const wake = (name: string): void => {
    const worker = workers.get(name)
    if (worker !== undefined) boss.notifyWorker(worker)
  }
  const send = async (name: string, data: object, options: SendOptions): Promise<string | undefined> => {
    const { timeoutSecs, retryLimit, retryDelaySecs } = kinds[name]!
    // Ids of pg-boss have another format than job ids of the API (docs/api.md 1.8), so the data carry a job id.
    const jobId = newDatedId('job')
    const id = await boss.send(
      name,
      { ...data, jobId },
      {
        expireInSeconds: timeoutSecs,
        retryLimit,
        retryDelay: retryDelaySecs,
        retryBackoff: true,
        deleteAfterSeconds: KEEP_SECS,
        retentionSeconds: KEEP_SECS,
        ...options,
      },
    )
    return id === null ? undefined : jobId
  }

  /** Queues a recurring job. Every node tries; `singletonSeconds` makes the database accept one job per interval. */
  const queueRecurring = async (name: string, everySecs: number): Promise<void> => {
    try {
      if (await send(name, {}, { singletonSeconds: everySecs })) wake(name)
    } catch (error) {
      log.warn({ err: error, job: name }, 'a recurring job was not queued')
    }
  }
  const recurring = Object.entries(kinds).flatMap(([name, { everySecs }]) =>
    everySecs === undefined ? [] : [[name, everySecs] as const],
  )
  let timer: NodeJS.Timeout | undefined

  return {
    async enqueue(tx, name, data) {
      return (await send(name, data, { db: fromKysely(tx) }))!
    },
    wake,
    async work(run) {
      const attempt = async (name: string, id: string, data: object, signal: AbortSignal) => {
        const { jobId, ...rest } = data as { jobId: string }
        const logAbort = (): void => log.warn({ job: name, jobId }, 'a running job was given up')
        signal.addEventListener('abort', logAbort)
        try {
          await run(name as JobName, rest as never, { jobId, signal })
          return { id, status: 'completed' as const }
        } catch (error) {
          log.warn({ err: error, job: name, jobId }, 'a job failed')
          const status = error instanceof PermanentFailure ? ('deadletter' as const) : ('failed' as const)
          return { id, status, output: { message: errorOf(error).message } }
        } finally {
          // The listener is removed because pg-boss aborts the signal after every attempt, even after a completed attempt.
          signal.removeEventListener('abort', logAbort)
          // Fetches the next job immediately instead of at the next poll.
          wake(name)
        }
      }
      for (const [name, { everySecs }] of Object.entries(kinds)) {
        const pollingIntervalSeconds = everySecs === undefined ? POLL_SECS : RECURRING_POLL_SECS
        const worker = await boss.work<object>(name, { pollingIntervalSeconds, perJobResults: true }, jobs =>
          Promise.all(jobs.map(({ id, data, signal }) => attempt(name, id, data, signal))),
        )
        workers.set(name, worker)
      }
      // A timer queues one recurring job at a time. Queueing all of them at once would delay other requests by 0.1 s.
      let nextIndex = 0
      const queueNextRecurring = (): void => {
        const [name, everySecs] = recurring[nextIndex++ % recurring.length]!
        void queueRecurring(name, everySecs)
      }
      if (recurring.length > 0)
        timer = setInterval(queueNextRecurring, (upkeepSecs * 1000) / recurring.length)
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await waitUpTo(drainTimeoutMs, Promise.all([...workers.keys()].map(name => boss.offWork(name))))
      // Returns the jobs that still run after the wait above to the queue.
      const stopped = boss
        .stop({ graceful: false })
        .catch(error => log.warn({ err: error }, 'running jobs were not returned to the queue'))
      await waitUpTo(drainTimeoutMs, stopped)
    },
  }
}

/** Error of pg-boss, which copies the errors of the pool and so loses their class. */
function queueError(error: unknown): Error {
  const copy = errorOf(error)
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (copy !== error) Object.assign(copy, { code, syscall })
  if (isConnectionError(copy)) markSocketError(copy)
  return copy
}

/** Converts an error of pg-boss, which reports some errors as plain objects. */
export function errorOf(error: unknown): Error {
  if (error instanceof Error) return error
  return new Error((error as { message?: string } | null)?.message ?? String(error))
}
