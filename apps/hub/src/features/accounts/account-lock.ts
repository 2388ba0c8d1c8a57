import type { Tx } from '../../platform/database/client/connection.ts'

/**
 * Locks an account until the end of the transaction, which serializes changes of everything that belongs to it. Every transaction
 * locks the account before the rows of its mailed tokens, so that two transactions do not deadlock.
 */
export async function lockAccount(tx: Tx, userId: string): Promise<void> {
  await tx.selectFrom('user').where('user_id', '=', userId).select('user_id').forNoKeyUpdate().execute()
}
