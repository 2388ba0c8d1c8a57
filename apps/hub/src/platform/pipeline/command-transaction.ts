import type { AuditEvents, LiveChange, LiveTopic } from '@muster/actions'
import type { EventOptions } from '../audit/events.ts'
import type { Db, Tx } from '../database/client/connection.ts'
import type { JobData, JobName } from '../jobs/jobs.ts'

/** The transaction of a command, with everything that takes effect only if it commits. */
export type CommandTransaction = {
  tx: Tx
  events: {
    emit<E extends keyof AuditEvents>(event: E, data: AuditEvents[E], options?: EventOptions): Promise<void>
  }
  /**
   * Notifies open consoles after the commit that something in the action's scope changed. `userIds` are further recipients, such as
   * people who have just become members.
   */
  changed(topic: LiveTopic, ids?: Partial<Omit<LiveChange, 'topic'>>, userIds?: readonly string[]): void
  /** Queues a job that runs only if the transaction commits. */
  enqueue<N extends JobName>(job: N, data: JobData[N]): Promise<string>
  /**
   * Records that the caller opened a link mailed to the owner of an account. After the commit, the account's count of failed
   * sign-ins is cleared and the caller's browser counts as known to the account.
   */
  ownerProved(userId: string): void
  /**
   * Runs an effect after the commit. A failure is logged and does not change the answer. `db` is the caller's share of the database; inside
   * of the transaction it must not be used (`DatabaseShare`).
   */
  afterCommit(effect: (db: Db) => void | Promise<void>): void
}
