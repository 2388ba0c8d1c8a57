import { sql } from 'kysely'
import { daysAgo, type JobContext } from '../../platform/jobs/define-job.ts'
import type { RunningJob } from '../../platform/jobs/queue.ts'
import { SYSTEM } from '../../platform/pipeline/caller.ts'
import { type CommandTransaction, commandTransaction } from '../../platform/pipeline/command-transaction.ts'

/** Days after which an unfinished sign-up and a used or expired mailed link are deleted. */
const KEEP_UNUSED_DAYS = 7
/** Days for which an expired user token stays in the list of its owner. */
const KEEP_EXPIRED_TOKENS_DAYS = 30

/** Removes sessions, mailed links and user tokens that have expired. */
export async function removeExpired({ db }: JobContext): Promise<void> {
  const cutoff = daysAgo(KEEP_UNUSED_DAYS)
  await db.deleteFrom('session').where('expires_at', '<', sql<Date>`now()`).execute()
  await db
    .deleteFrom('mailed_token')
    .where(({ or, eb }) => or([eb('expires_at', '<', cutoff), eb('used_at', '<', cutoff)]))
    .execute()
  await db.deleteFrom('user_token').where('expires_at', '<', daysAgo(KEEP_EXPIRED_TOKENS_DAYS)).execute()
}

/** Maximum number of accounts that one transaction removes. */
const SIGN_UPS_AT_ONCE = 200

/** Removes accounts whose sign-up was never completed. */
export async function removeSignUps(context: JobContext, { jobId }: RunningJob): Promise<void> {
  const remove = async ({ tx, events }: CommandTransaction): Promise<number> => {
    const registrations = await tx
      .selectFrom('registration as r')
      .innerJoin('user as u', 'u.user_id', 'r.user_id')
      .where('r.status', '=', 'Pending')
      .where('r.created_at', '<', daysAgo(KEEP_UNUSED_DAYS))
      .where('u.is_active', '=', false)
      // Skips an account whose row is locked, because its activation is in flight.
      .forUpdate()
      .skipLocked()
      .limit(SIGN_UPS_AT_ONCE)
      .select(['u.user_id', 'u.email'])
      .execute()
    if (registrations.length === 0) return 0
    const userIds = registrations.map(({ user_id }) => user_id)
    await tx.deleteFrom('user').where('user_id', 'in', userIds).execute()
    await events.emitEach(
      'users_RegistrationExpired',
      registrations.map(({ user_id: userId, email }) => ({ data: { userId, email } })),
    )
    return registrations.length
  }
  const removePortion = () => commandTransaction(remove, { caller: SYSTEM, scope: {}, jobId }, context)
  while ((await removePortion()) === SIGN_UPS_AT_ONCE);
}
