import type { Jwts, MailPurpose } from '../jwts.ts'
import type { Tx } from './connection.ts'

/** How long mailed links work, in seconds. */
export const ACTIVATION_SECS = 24 * 60 * 60
export const PASSWORD_RESET_SECS = 60 * 60
/** The first password of an account that somebody else made. */
export const FIRST_PASSWORD_SECS = 7 * 24 * 60 * 60

/** Makes the row of a link that is about to be mailed; older ones of that account and purpose work no more. Returns its id. */
export async function issueMailedToken(
  tx: Tx,
  purpose: MailPurpose,
  userId: string,
  validForSecs: number,
): Promise<string> {
  await lockAccount(tx, userId)
  await voidMailedTokens(tx, purpose, userId)
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
  return jwtId
}

/** Uses a mailed link up and returns whose it was; nothing for one that is forged, expired, void or used. */
export async function redeemMailedToken(
  tx: Tx,
  jwts: Jwts,
  purpose: MailPurpose,
  jwt: string,
): Promise<string | undefined> {
  const claims = await jwts.verify(purpose, jwt)
  if (!claims) return undefined
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

/** First the account, then its links: in this order everywhere, so that nobody waits for each other. */
async function lockAccount(tx: Tx, userId: string): Promise<void> {
  await tx.selectFrom('user').where('user_id', '=', userId).select('user_id').forNoKeyUpdate().execute()
}
