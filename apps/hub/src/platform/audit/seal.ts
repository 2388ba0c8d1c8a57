import { sql } from 'kysely'
import type { InstanceKey } from '../credentials/instance-key.ts'
import type { Db, Tx } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'
import {
  hashRemoval,
  hashRows,
  hashSeal,
  NEWEST_FORM,
  NO_HASH,
  SEAL,
  SEALED_ACTION,
  SEALED_EVENT,
  type Seal,
  type SealedRow,
  SealKeys,
  sha256,
  timeText,
} from './chain.ts'

/** Limit of actions, and of events, in one seal. The limit keeps the transaction well under a second. */
const MAX_ROWS_PER_SEAL = 2_000
/** Minimum age of a row before it is sealed, in seconds, so that a command and its events usually get the same seal. */
const SETTLE_SECS = 5
/** Limit of seals whose rows one transaction removes. */
const REMOVED_AT_ONCE = 20

/**
 * Seals audit rows that are no longer `Pending`, oldest first: signs a hash of each batch (docs/decisions.md, "Actions and audit"). When
 * another node seals at the same time, this call does nothing. The hash of each seal is logged. If the hub's log is also kept on another
 * system, a comparison with the database shows whether the end of the chain of seals was truncated.
 */
export async function sealFinishedRows(db: Db, key: InstanceKey, log: Logger): Promise<void> {
  const keys = new SealKeys(key)
  for (;;) {
    const sealed = await db.transaction().execute(tx => sealBatch(tx, keys))
    if (!sealed) return
    const { sealNo, hash, actionCount, eventCount } = sealed
    log.info({ seal: sealNo, hash: hash.toString('hex'), actionCount, eventCount }, 'audit rows sealed')
    if (actionCount < MAX_ROWS_PER_SEAL && eventCount < MAX_ROWS_PER_SEAL) return
  }
}

/**
 * Removes the rows of the oldest seals in which every row is older than the retention. The seals remain, with a signed note of the
 * removal, so that the chain can still be verified.
 */
export async function removeSealed(
  db: Db,
  key: InstanceKey,
  retentionDays: number,
  log: Logger,
): Promise<void> {
  const keys = new SealKeys(key)
  for (;;) {
    const removed = await db.transaction().execute(tx => removeBatch(tx, keys, retentionDays))
    if (removed > 0) log.info({ seals: removed, retentionDays }, 'audit rows of old seals removed')
    if (removed < REMOVED_AT_ONCE) return
  }
}

async function sealBatch(tx: Tx, keys: SealKeys): Promise<(Seal & { hash: Buffer }) | undefined> {
  const { rows } = await sql<{ isLocked: boolean; sealedAt: string }>`
    select pg_try_advisory_xact_lock(hashtext('muster.audit-seals')) as "isLocked",
           ${sql.raw(timeText('now()'))} as "sealedAt"`.execute(tx)
  const { isLocked, sealedAt } = rows[0]!
  if (!isLocked) return undefined
  const last = await tx
    .selectFrom('audit_seal')
    .select(['seal_no', 'hash'])
    .orderBy('seal_no', 'desc')
    .limit(1)
    .executeTakeFirst()
  const sealNo = (last?.seal_no ?? 0) + 1
  const isSettled = sql`seal_no is null and created_at < now() - make_interval(secs => ${SETTLE_SECS})`
  const { rows: actions } = await sql<SealedRow>`
    update audit_action set seal_no = ${sealNo} where action_id in (
      select action_id from audit_action where ${isSettled} and status <> 'Pending'
       order by created_at, action_id limit ${MAX_ROWS_PER_SEAL})
    returning ${sql.raw(SEALED_ACTION.newest)}`.execute(tx)
  const { rows: events } = await sql<SealedRow>`
    update audit_event set seal_no = ${sealNo} where event_id in (
      select event_id from audit_event where ${isSettled}
       order by created_at, event_id limit ${MAX_ROWS_PER_SEAL})
    returning ${sql.raw(SEALED_EVENT.newest)}`.execute(tx)
  if (actions.length + events.length === 0) return undefined

  const rowHashes = Buffer.concat((await hashRows(actions, events)).map(row => row.hash))
  const rowsHash = sha256(rowHashes)
  const seal: Seal = {
    form: NEWEST_FORM,
    sealNo,
    actionCount: actions.length,
    eventCount: events.length,
    rowsHash,
    previousHash: last?.hash ?? NO_HASH,
    newestAt: [...actions, ...events]
      .reduce((newest, { place }) => (place > newest ? place : newest), '')
      .split(' ')[0]!,
    sealedAt,
  }
  const hash = hashSeal(seal)
  await tx
    .insertInto('audit_seal')
    .values({
      form: seal.form,
      seal_no: sealNo,
      action_count: seal.actionCount,
      event_count: seal.eventCount,
      row_hashes: rowHashes,
      rows_hash: rowsHash,
      previous_hash: seal.previousHash,
      hash,
      signature: keys.sign(hash),
      sealed_at: sealedAt,
      newest_at: seal.newestAt,
    })
    .execute()
  return { ...seal, hash }
}

async function removeBatch(tx: Tx, keys: SealKeys, retentionDays: number): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtext('muster.audit-seals'))`.execute(tx)
  const { rows } = await sql<Seal & { hash: Buffer; isOld: boolean; removedAt: string }>`
    select ${sql.raw(SEAL)}, hash, newest_at < now() - make_interval(days => ${retentionDays}) as "isOld",
           ${sql.raw(timeText('now()'))} as "removedAt"
      from audit_seal where removed_at is null order by seal_no limit ${REMOVED_AT_ONCE}`.execute(tx)
  // Removes the rows of the oldest seals, up to the first seal that is younger than the retention.
  const young = rows.findIndex(({ isOld }) => !isOld)
  const seals = young < 0 ? rows : rows.slice(0, young)
  const sealNos = seals.map(({ sealNo }) => sealNo)
  if (sealNos.length === 0) return 0
  // The hash of a seal covers `newest_at`. Without a check of the hash, an attacker with write access to the database could
  // make a seal look old. The hub would then remove the seal's rows and sign a note of the removal.
  const changed = seals.find(seal => !seal.hash.equals(hashSeal(seal)))
  if (changed)
    throw new Error(
      `Seal ${changed.sealNo} was changed: its fields do not match its hash. No rows are removed.`,
    )
  await tx.deleteFrom('audit_action').where('seal_no', 'in', sealNos).execute()
  await tx.deleteFrom('audit_event').where('seal_no', 'in', sealNos).execute()
  for (const { sealNo, hash, removedAt } of seals) {
    await tx
      .updateTable('audit_seal')
      .set({
        row_hashes: null,
        removed_at: removedAt,
        removal_signature: keys.sign(hashRemoval(hash, removedAt)),
      })
      .where('seal_no', '=', sealNo)
      .execute()
  }
  return seals.length
}
