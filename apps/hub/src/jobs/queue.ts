import { newDatedId } from '@muster/actions'
import { waitUpTo } from '@muster/concurrency'
import type pg from 'pg'
import { fromKysely, PgBoss, type SendOptions } from 'pg-boss'
import type { Logger } from '../runtime/log.ts'
import type { JobData, JobName, Jobs } from './jobs.ts'
import { JOB_KINDS, type JobKind } from './kinds.ts'

/** An attempt under way. */
export type RunningJob = {
  jobId: string
  /** Says when the attempt is over because of its deadline or because the hub stops. */
  signal: AbortSignal
}

/** Does the work of a job; throws to have it tried again, `PermanentFailure` to end it. */
type RunJob = <N extends JobName>(name: N, data: JobData[N], job: RunningJob) => Promise<void>

/** A job that another attempt would not help. */
export class PermanentFailure extends Error {
  override readonly name = 'PermanentFailure'
}

export type JobQueue = AsyncDisposable &
  Jobs & {
    /** Starts the workers of this node, one for each kind, and the jobs that run by themselves. */
    work(run: RunJob): Promise<void>
  }

type QueueOptions = {
  pool: pg.Pool
  log: Logger
  /** How long jobs under way are waited for when the queue stops, in milliseconds; then they are given back. */
  drainTimeoutMs: number
  kinds?: Record<string, JobKind>
  /** How often jobs of processes that died are looked for, and jobs whose turn has come are queued, in seconds. */
  upkeepSecs?: number
}

/** How often a worker looks by itself: what this node queues wakes it, so this is for retries and for what other nodes left. */
const POLL_SECS = 5
/** The same for kinds that run by themselves. */
const RECURRING_POLL_SECS = 60
/** How long finished jobs are kept, in seconds. */
const KEEP_SECS = 30 * 24 * 60 * 60

/** Opens the job queue, which `installQueue` made, on connections of the hub's own pool. */
export async function openQueue({
  pool,
  log,
  drainTimeoutMs,
  kinds = JOB_KINDS,
  upkeepSecs = 30,
}: QueueOptions): Promise<JobQueue> {
  const boss = new PgBoss({
    // Texts of several statements come with an empty list of values and cannot be prepared.
    db: { executeSql: (text, values) => pool.query(text, values?.length ? values : undefined) },
    // The hub's role owns nothing.
    migrate: false,
    reindex: false,
    schedule: false,
    superviseIntervalSeconds: upkeepSecs,
    monitorIntervalSeconds: upkeepSecs,
    maintenanceIntervalSeconds: 60 * 60,
    // Jobs that wait for other jobs, of which there are none.
    flowIntervalSeconds: 60 * 60,
  })
  boss.on('error', error => log.warn({ err: errorOf(error) }, 'the job queue failed'))
  boss.on('warning', ({ message, data }) => log.warn({ data }, message))
  await boss.start()

  const workers = new Map<string, string>()
  const wake = (name: string): void => {
    const worker = workers.get(name)
    if (worker !== undefined) boss.notifyWorker(worker)
  }
  const send = async (name: string, data: object, options: SendOptions): Promise<string | undefined> => {
    const { timeoutSecs, retryLimit, retryDelaySecs } = kinds[name]!
    // Ids of the queue are no ids of ours (catalogue 1.8), so ours travels in the data.
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

  /** Every node offers the jobs that run by themselves; the database takes one for each stretch of time. */
  const offer = async (name: string, everySecs: number): Promise<void> => {
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
        const logGivenUp = (): void => log.warn({ job: name, jobId }, 'a job under way was given up')
        signal.addEventListener('abort', logGivenUp)
        try {
          await run(name as JobName, rest as never, { jobId, signal })
          return { id, status: 'completed' as const }
        } catch (error) {
          log.warn({ err: error, job: name, jobId }, 'a job failed')
          const status = error instanceof PermanentFailure ? ('deadletter' as const) : ('failed' as const)
          return { id, status, output: { message: errorOf(error).message } }
        } finally {
          // The signal comes at the end of every attempt.
          signal.removeEventListener('abort', logGivenUp)
          // The next one at once, not at the next poll.
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
      // One after the other: together they would hold up everybody else for a tenth of a second.
      let turn = 0
      const offerNext = (): void => {
        const [name, everySecs] = recurring[turn++ % recurring.length]!
        void offer(name, everySecs)
      }
      if (recurring.length > 0) timer = setInterval(offerNext, (upkeepSecs * 1000) / recurring.length)
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await waitUpTo(drainTimeoutMs, Promise.all([...workers.keys()].map(name => boss.offWork(name))))
      // Gives back what is still under way.
      const stopped = boss
        .stop({ graceful: false })
        .catch(error => log.warn({ err: error }, 'jobs under way were not given back'))
      await waitUpTo(drainTimeoutMs, stopped)
    },
  }
}

/** An error of the queue, which reports some as plain objects. */
export function errorOf(error: unknown): Error {
  if (error instanceof Error) return error
  return new Error((error as { message?: string } | null)?.message ?? String(error))
}
