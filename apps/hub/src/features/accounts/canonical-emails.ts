import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { isUniqueViolation } from '../../platform/database/client/errors.ts'
import { canonicalEmail } from '../../platform/pipeline/email-address.ts'

/**
 * Stores the canonical address of up to `count` accounts without one, in the order of their ids after `userId`. Resolves to the last of
 * these accounts, or to undefined when none is left.
 */
export async function fillCanonicalEmails(
  db: Db,
  userId: string,
  count: number,
): Promise<string | undefined> {
  const accounts = await db
    .selectFrom('user')
    .where('canonical_email', 'is', null)
    .where('user_id', '>', userId)
    .orderBy('user_id')
    .limit(count)
    .select(['user_id', 'email'])
    .execute()
  for (const account of accounts) {
    try {
      await db.transaction().execute(tx => fill(tx, account))
    } catch (error) {
      // A concurrent sign-up has taken the canonical address. The next run of the job stores the text of this account's address instead.
      if (!isUniqueViolation(error)) throw error
    }
  }
  return accounts.at(-1)?.user_id
}

/**
 * Stores the canonical address of an account, or the text of its address if that is not stable. Of accounts with the same canonical address,
 * the one whose address is that text has it, else the first one. The others keep the text of their address, so that each can sign in.
 */
async function fill(tx: Tx, { user_id: userId, email }: { user_id: string; email: string }): Promise<void> {
  const canonical = canonicalEmail(email) ?? email
  let own = canonical
  if (canonical === email)
    await tx
      .updateTable('user')
      .set(({ ref }) => ({ canonical_email: ref('email') }))
      .where('canonical_email', '=', canonical)
      .where('user_id', '<>', userId)
      .execute()
  else {
    const other = await tx
      .selectFrom('user')
      .where('user_id', '<>', userId)
      .where(
        sql<boolean>`(canonical_email = ${canonical} or (lower(email) = lower(${canonical}) and email = ${canonical}))`,
      )
      .select('user_id')
      .executeTakeFirst()
    if (other) own = email
  }
  await tx
    .updateTable('user')
    .set({ canonical_email: own })
    .where('user_id', '=', userId)
    .where('email', '=', email)
    .where('canonical_email', 'is', null)
    .execute()
}
