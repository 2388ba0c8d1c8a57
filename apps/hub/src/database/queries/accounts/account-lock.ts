import type { Tx } from '../../client/connection.ts'

/**
 * Holds an account until the transaction ends, so that changes of what belongs to it come one after the other. Every transaction locks
 * the account before its mailed links, so that two never wait for each other.
 */
export async function lockAccount(tx: Tx, userId: string): Promise<void> {
  await tx.selectFrom('user').where('user_id', '=', userId).select('user_id').forNoKeyUpdate().execute()
}
