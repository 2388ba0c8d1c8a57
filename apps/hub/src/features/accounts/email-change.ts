import { forgetFirstSignIn } from '../../platform/credentials/first-sign-in.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { requireCanonical } from '../../platform/pipeline/email-address.ts'
import { lockAccount } from './account-lock.ts'
import { isTakenBy } from './accounts.ts'
import type { EmailChanger } from './email-changed-mail.ts'
import { ACTIVATION_SECS, mailLink, voidMailedTokens } from './mailed-tokens.ts'

/** Whether another account has an email address. */
export async function isOfAnother(tx: Tx, email: string, userId: string): Promise<boolean> {
  const other = await tx.selectFrom('user').where(isTakenBy(email)).select('user_id').executeTakeFirst()
  return other !== undefined && other.user_id !== userId
}

/**
 * Sets the email address of an account, voids the links that were mailed to the old address, and queues a notice to it. An account that is
 * not activated yet gets its activation link at the new address. Resolves to false, and changes nothing, if another account has the address.
 * Throws `Invalid` (409) for an address that is not stable.
 */
export async function setEmail(
  context: CommandTransaction & { services: { dataDir: string } },
  { userId, email, by }: { userId: string; email: string; by: EmailChanger },
): Promise<boolean> {
  const { tx, events, services, enqueue, afterCommit } = context
  const canonical = requireCanonical(email)
  await lockAccount(tx, userId)
  if (await isOfAnother(tx, email, userId)) return false
  const account = await tx
    .selectFrom('user as u')
    .leftJoin('registration as r', 'r.user_id', 'u.user_id')
    .where('u.user_id', '=', userId)
    .select(['u.email', 'r.status'])
    .executeTakeFirstOrThrow()
  if (account.email === email) return true
  await tx
    .updateTable('user')
    .set({ email, canonical_email: canonical })
    .where('user_id', '=', userId)
    .execute()
  await voidMailedTokens(tx, ['Activation', 'PasswordReset', 'EmailChange'], userId)
  if (account.status === 'Pending') await mailLink(context, 'Activation', userId, ACTIVATION_SECS)
  await events.emit('users_EmailChanged', { userId, email }, { old: { email: account.email } })
  await enqueue('users_SendEmailChangedEmail', {
    userId,
    oldEmail: account.email,
    by,
    changedAt: new Date().toISOString(),
  })
  afterCommit(() => forgetFirstSignIn(services.dataDir, account.email))
  return true
}
