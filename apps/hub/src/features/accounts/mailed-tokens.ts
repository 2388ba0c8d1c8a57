import { sql } from 'kysely'
import type { MailPurpose, PersonClaims } from '../../platform/credentials/jwts.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { lockAccount } from './account-lock.ts'

/** Lifetime of the mailed link that activates an account, in seconds: a day. */
export const ACTIVATION_SECS = 24 * 60 * 60
/** Lifetime of the mailed link that resets a password, in seconds: an hour. */
export const PASSWORD_RESET_SECS = 60 * 60
/** Lifetime of the mailed link that sets a password for an account without one, in seconds: 7 days. Its owner may not expect the mail. */
export const FIRST_PASSWORD_SECS = 7 * 24 * 60 * 60

/** Lifetime of the mailed link that changes the address of an account, in seconds: an hour. */
export const EMAIL_CHANGE_SECS = 60 * 60

/** Maximum number of mailed links of one purpose per account and hour, for all callers together. */
const MAX_AN_HOUR = 5

const JOB = {
  Activation: 'users_SendRegistrationEmail',
  PasswordReset: 'users_SendPasswordEmail',
  EmailChange: 'users_SendEmailChangeEmail',
} as const

/**
 * Queues a mail with a link and resolves to the id of the link. Resolves to undefined, without a mail, when the hourly limit is reached. Unauthenticated clients can use
 * up this limit, so earlier mailed links stay valid: an owner who gets no further mail still has a link that works. `newEmail` is the
 * recipient of a link that changes the address of the account; other links go to the present address.
 */
export async function mailLink(
  { tx, enqueue }: Pick<CommandTransaction, 'tx' | 'enqueue'>,
  purpose: MailPurpose,
  userId: string,
  validForSecs: number,
  newEmail?: string,
): Promise<string | undefined> {
  await lockAccount(tx, userId)
  const { count } = await tx
    .selectFrom('mailed_token')
    .where('user_id', '=', userId)
    .where('purpose', '=', purpose)
    .where('created_at', '>', sql<Date>`now() - interval '1 hour'`)
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow()
  if (count >= MAX_AN_HOUR) return undefined
  const jwtId = crypto.randomUUID()
  await tx
    .insertInto('mailed_token')
    .values({
      jwt_id: jwtId,
      purpose,
      user_id: userId,
      new_email: newEmail ?? null,
      expires_at: new Date(Date.now() + validForSecs * 1000),
    })
    .execute()
  await enqueue(JOB[purpose], { jwtId })
  return jwtId
}

/** Marks a mailed link as used. Resolves to its account and new address, or to undefined if the link is expired, void or used. */
export async function redeemMailedToken(
  tx: Tx,
  purpose: MailPurpose,
  claims: PersonClaims,
): Promise<{ userId: string; newEmail: string | null } | undefined> {
  await lockAccount(tx, claims.userId)
  return tx
    .updateTable('mailed_token')
    .set({ used_at: new Date() })
    .where('jwt_id', '=', claims.jwtId)
    .where('purpose', '=', purpose)
    .where('user_id', '=', claims.userId)
    .where('used_at', 'is', null)
    .where('expires_at', '>', new Date())
    .returning(['user_id as userId', 'new_email as newEmail'])
    .executeTakeFirst()
}

/** Deletes the unused mailed links of an account for some purposes. */
export async function voidMailedTokens(tx: Tx, purposes: MailPurpose[], userId: string): Promise<void> {
  await tx
    .deleteFrom('mailed_token')
    .where('user_id', '=', userId)
    .where('purpose', 'in', purposes)
    .where('used_at', 'is', null)
    .execute()
}
