import { sql } from 'kysely'
import type { CommandTransaction } from '../../../command-transaction.ts'
import type { MailPurpose, PersonClaims } from '../../../credentials/jwts.ts'
import type { Tx } from '../../client/connection.ts'
import { lockAccount } from './account-lock.ts'

/** How long mailed links work, in seconds. */
export const ACTIVATION_SECS = 24 * 60 * 60
export const PASSWORD_RESET_SECS = 60 * 60
/** The first password of an account that somebody else made. */
export const FIRST_PASSWORD_SECS = 7 * 24 * 60 * 60

/** Most links that one account is mailed in an hour, whoever asks. */
const MAX_AN_HOUR = 5

const JOB = { Activation: 'users_SendRegistrationEmail', PasswordReset: 'users_SendPasswordEmail' } as const

/**
 * Mails a link and tells whether it did: not beyond so many an hour. Anybody may ask for the mails of others, so those that were
 * sent before keep working, and nobody can use up what an owner needs: who is sent no other mail has one that works.
 */
export async function mailLink(
  { tx, enqueue }: Pick<CommandTransaction, 'tx' | 'enqueue'>,
  purpose: MailPurpose,
  userId: string,
  validForSecs: number,
): Promise<boolean> {
  await lockAccount(tx, userId)
  const { count } = await tx
    .selectFrom('mailed_token')
    .where('user_id', '=', userId)
    .where('purpose', '=', purpose)
    .where('created_at', '>', sql<Date>`now() - interval '1 hour'`)
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow()
  if (count >= MAX_AN_HOUR) return false
  const jwtId = crypto.randomUUID()
  await tx
    .insertInto('mailed_token')
    .values({
      jwt_id: jwtId,
      purpose,
      user_id: userId,
      expires_at: new Date(Date.now() + validForSecs * 1000),
    })
    .execute()
  await enqueue(JOB[purpose], { jwtId })
  return true
}

/** Uses a mailed link up and returns whose it was; nothing for one that is expired, void or used. */
export async function redeemMailedToken(
  tx: Tx,
  purpose: MailPurpose,
  claims: PersonClaims,
): Promise<string | undefined> {
  await lockAccount(tx, claims.userId)
  const row = await tx
    .updateTable('mailed_token')
    .set({ used_at: new Date() })
    .where('jwt_id', '=', claims.jwtId)
    .where('purpose', '=', purpose)
    .where('user_id', '=', claims.userId)
    .where('used_at', 'is', null)
    .where('expires_at', '>', new Date())
    .returning('user_id')
    .executeTakeFirst()
  return row?.user_id
}

/** Makes the links of an account that nobody used work no more. */
export async function voidMailedTokens(tx: Tx, purpose: MailPurpose, userId: string): Promise<void> {
  await tx
    .deleteFrom('mailed_token')
    .where('user_id', '=', userId)
    .where('purpose', '=', purpose)
    .where('used_at', 'is', null)
    .execute()
}
