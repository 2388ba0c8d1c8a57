import { sql } from 'kysely'
import type pg from 'pg'
import type { Db } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'
import type { SealKeys } from './chain.ts'
import { VERIFICATION, type Verification } from './sealing.ts'
import { type VerifiedUpTo, verifySealsAfter } from './verify.ts'

/** Seals per read-only transaction. A seal has up to 4,000 rows, so a transaction reads up to 80,000 rows. */
const SEALS_AT_ONCE = 20

const BEGIN: VerifiedUpTo = { seal: 0, hash: '' }

/**
 * Verifies the seals (signed hashes of audit rows) after the last verified seal and stores the result, which the console shows with the
 * audit log. After a difference, the next run begins again at the last intact seal. The stored result is for display only: an attacker
 * with write access to the database can change it, but cannot deceive `muster-hub audit verify`.
 */
export async function verifyNewSeals(
  { db, pool, log }: { db: Db; pool: pg.Pool; log: Logger },
  keys: SealKeys,
  signal: AbortSignal,
): Promise<void> {
  const stored = await db
    .selectFrom('instance_setting')
    .where('key', '=', VERIFICATION)
    .select('value')
    .executeTakeFirst()
  let upTo: VerifiedUpTo = (stored?.value as Verification | undefined) ?? BEGIN
  for (;;) {
    signal.throwIfAborted()
    const client = await pool.connect()
    const part = await verifySealsAfter(client, keys, upTo, SEALS_AT_ONCE).finally(() => client.release())
    upTo = part.upTo
    const verification: Verification = {
      verifiedAt: new Date().toISOString(),
      seal: upTo.seal,
      hash: upTo.hash,
      ...(part.problem !== undefined && { problem: part.problem }),
    }
    await sql`
      insert into instance_setting (key, value) values (${VERIFICATION}, ${JSON.stringify(verification)}::jsonb)
      on conflict (key) do update set value = excluded.value`.execute(db)
    if (part.problem !== undefined) log.error({ problem: part.problem }, 'the audit log is not intact')
    if (part.isAtEnd) return
  }
}
