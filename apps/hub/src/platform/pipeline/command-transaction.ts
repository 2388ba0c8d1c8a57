import type { AuditEvents, LiveChange, LiveTopic } from '@muster/actions'
import type { Scope } from '../access/scope.ts'
import { type Cause, type EventData, type EventOptions, recordEvents } from '../audit/events.ts'
import type { Db, Tx } from '../database/client/connection.ts'
import { isConnectionError, isDeadlock, isUniqueViolation, sqlState } from '../database/client/errors.ts'
import type { JobData, JobName, Jobs } from '../jobs/jobs.ts'
import type { DatabaseShare } from '../limits/database-shares.ts'
import type { LiveHub } from '../live/live-hub.ts'
import type { Logger } from '../runtime/log.ts'

/**
 * Maximum number of attempts of a transaction that fails because of a deadlock, a serialization conflict or a unique violation.
 */
const MAX_ATTEMPTS = 3

/** A transaction that changes what people see, with everything that takes effect only if it commits. */
export type CommandTransaction = {
  tx: Tx
  events: {
    /** Records an audit event. Open logs are refreshed after the commit. */
    emit<E extends keyof AuditEvents>(event: E, data: AuditEvents[E], options?: EventOptions): Promise<void>
    /** Records an audit event for each of several objects, with one statement. */
    emitEach<E extends keyof AuditEvents>(event: E, of: readonly EventData<E>[]): Promise<void>
  }
  /**
   * Notifies open consoles after the commit that something in the transaction's scope changed. `userIds` are further recipients, such as
   * people who have just become members.
   */
  changed(topic: LiveTopic, ids?: Partial<Omit<LiveChange, 'topic'>>, userIds?: readonly string[]): void
  /** Queues a job that runs only if the transaction commits. */
  enqueue<N extends JobName>(job: N, data: JobData[N]): Promise<string>
  /**
   * Runs an effect after the commit. A failure is logged and changes nothing else. `db` is the caller's share of the database; inside
   * of the transaction it must not be used (`DatabaseShare`).
   */
  afterCommit(effect: (db: Db) => void | Promise<void>): void
}

/** Parts of the hub that a command transaction uses. */
export type CommandParts = {
  db: Db
  /** Runs a transaction within the share of its caller, and may repeat it. Without it, one of `db` is run. */
  transaction?: DatabaseShare['transaction']
  live: Pick<LiveHub, 'changed'>
  jobs: Jobs
  log: Logger
}

/** These parts within a caller's share of the database. */
export function withinShare(
  parts: CommandParts,
  { db, transaction }: Pick<DatabaseShare, 'db' | 'transaction'>,
): CommandParts {
  return { ...parts, db, transaction }
}

/**
 * Runs `work` in a transaction of its own, with its audit events, and then the effects of that transaction: notices to open consoles, queued
 * jobs that are started, and what `work` itself asked for. Actions, items of bulk actions, uploads, jobs and connecting devices all use it,
 * so that no change is forgotten by the logs that show it. After a conflict with another transaction `work` runs again, so all that it does
 * must be undone by a rollback. If the connection breaks during the commit, `hasCommitted` finds out whether the transaction was committed.
 */
export async function commandTransaction<Result>(
  work: (transaction: CommandTransaction) => Promise<Result>,
  cause: Cause,
  { db, transaction = work => db.transaction().execute(work), live, jobs, log }: CommandParts,
  hasCommitted: () => Promise<boolean> = async () => false,
): Promise<Result> {
  const { scope } = cause
  for (let attempt = 1; ; attempt++) {
    const effects: ((db: Db) => void | Promise<void>)[] = []
    /** Result of the attempt. Set when only the commit remains. */
    let done: { result: Result } | undefined
    try {
      await transaction(async tx => {
        effects.length = 0
        done = undefined
        const emitEach = async <E extends keyof AuditEvents>(
          event: E,
          of: readonly EventData<E>[],
        ): Promise<void> => {
          await recordEvents(tx, cause, event, of)
          for (const { data, scope: further } of of)
            effects.push(() => logGrew(live, { ...scope, ...further, ...data }))
        }
        const result = await work({
          tx,
          events: {
            emit: (event, data, options) => emitEach(event, [{ ...options, data }]),
            emitEach,
          },
          changed: (topic, ids, userIds) =>
            effects.push(() => live.changed({ topic, ...liveIds(scope), ...ids }, userIds)),
          enqueue(job, data) {
            effects.push(() => jobs.wake(job))
            return jobs.enqueue(tx, job, data)
          },
          afterCommit: effect => effects.push(effect),
        })
        done = { result }
      })
    } catch (error) {
      if (attempt < MAX_ATTEMPTS && isConflict(error)) continue
      if (!done || !isConnectionError(error) || !(await hasCommitted())) throw error
    }
    for (const effect of effects)
      try {
        await effect(db)
      } catch (error) {
        log.error(
          { err: error, actionId: cause.actionId, jobId: cause.jobId },
          'an effect after a commit failed',
        )
      }
    return done!.result
  }
}

/**
 * Notifies open consoles of a new entry in the log of an organization. The log of the instance needs no notice, because consoles poll
 * it.
 */
export function logGrew(live: CommandParts['live'], ids: Scope): void {
  if (ids.organizationId) live.changed({ topic: 'log', ...liveIds(ids) })
}

/**
 * True for errors after which the transaction is tried again. They include unique violations: the next attempt finds the other
 * transaction's row and answers that the value is taken.
 */
function isConflict(error: unknown): boolean {
  return sqlState(error) === '40001' || isDeadlock(error) || isUniqueViolation(error)
}

function liveIds({
  organizationId = '',
  projectId,
  deviceId,
  repositoryId,
}: Scope): Omit<LiveChange, 'topic'> {
  return {
    organizationId,
    ...(projectId && { projectId }),
    ...(deviceId && { deviceId }),
    ...(repositoryId && { repositoryId }),
  }
}
