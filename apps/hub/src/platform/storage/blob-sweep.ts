import { sql } from 'kysely'
import type pg from 'pg'
import type { Db } from '../database/client/connection.ts'
import { SYSTEM } from '../pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
} from '../pipeline/command-transaction.ts'
import type { LocateBlob } from './driver.ts'
import type { LocalFolder } from './local-folder.ts'
import type { ObjectStores } from './object-stores.ts'

/**
 * Maximum time that one sweep spends on removals in one object store: 1 minute, in milliseconds. Further removals wait for the next
 * sweep.
 */
const MAX_STORE_MS = 60 * 1000

/** Key of the advisory lock that a backup holds while no bytes may be removed. */
const LOCK = sql`hashtext('muster.blobs')`

/**
 * Keeps all stored bytes until the session ends, also those of blobs that are deleted meanwhile. Removals wait in `blob_removal`. A killed
 * backup ends its session, so it does not stop removals for ever.
 */
export async function holdBlobs(client: pg.Client): Promise<void> {
  await client.query("select pg_advisory_lock(hashtext('muster.blobs'))")
}

type BlobSweepOptions = CommandParts & {
  folder: LocalFolder
  stores: ObjectStores
  instanceStoreId: string | undefined
  locate: LocateBlob
}

/** Removes bytes that no blob needs any more. */
export class BlobSweep {
  readonly #parts: CommandParts
  readonly #folder: LocalFolder
  readonly #stores: ObjectStores
  readonly #instanceStoreId: string | undefined
  readonly #locate: LocateBlob

  constructor({ folder, stores, instanceStoreId, locate, ...parts }: BlobSweepOptions) {
    this.#parts = parts
    this.#folder = folder
    this.#stores = stores
    this.#instanceStoreId = instanceStoreId
    this.#locate = locate
  }

  /**
   * Removes the bytes of deleted blobs, blobs that were never uploaded, and files without a blob. Removals from an unreachable store
   * are retried after growing pauses.
   */
  async run({ jobId, signal }: { jobId: string; signal: AbortSignal }): Promise<void> {
    await this.#deleteUnfinished(jobId)
    await this.#removeDue(signal)
    await this.#stores.forgetUnused(this.#parts.db, this.#instanceStoreId)
    const swept = await this.#folder.sweep(names => knownFiles(this.#parts.db, names))
    if (swept.removed + swept.lost > 0) this.#parts.log.info(swept, 'files without blobs were swept')
  }

  async #deleteUnfinished(jobId: string): Promise<void> {
    const work = async ({ tx, events, changed }: CommandTransaction): Promise<void> => {
      const { rows } = await sql<{ assetId: string; repositoryId: string; organizationId: string }>`
        with old as (
          select a.asset_id
            from asset a
           where a.status <> 'Available' and a.created_at < now() - interval '1 day'
             and not exists (select from version_asset f where f.asset_id = a.asset_id)
             and not exists (select from package_asset f where f.asset_id = a.asset_id)
           limit 1000
             for update of a skip locked
        )
        delete from asset a using old, repository r
         where a.asset_id = old.asset_id and r.repository_id = a.repository_id
        returning a.asset_id as "assetId", a.repository_id as "repositoryId", r.organization_id as "organizationId"`.execute(
        tx,
      )
      for (const { assetId, ...scope } of rows) {
        const { repositoryId } = scope
        await events.emit('repositories_AssetDeleted', { repositoryId, assetId }, { scope })
        changed('packages', scope)
      }
    }
    await commandTransaction(work, { caller: SYSTEM, scope: {}, jobId }, this.#parts)
  }

  /**
   * Removes due bytes from the hub's folder first, then from each object store. Each store has a time limit, so that a slow
   * store does not block others.
   */
  async #removeDue(signal: AbortSignal): Promise<void> {
    const places = await this.#parts.db
      .selectFrom('blob_removal')
      .where('not_before', '<=', sql<Date>`now()`)
      .select('store_id')
      .groupBy('store_id')
      // Random order, so that slow stores do not delay the same other stores each time.
      .orderBy(sql`store_id is not null, random()`)
      .execute()
    for (const { store_id: storeId } of places) {
      const storeSignal =
        storeId === null ? signal : AbortSignal.any([signal, AbortSignal.timeout(MAX_STORE_MS)])
      await this.#removeDueFrom(storeId, storeSignal)
    }
  }

  async #removeDueFrom(storeId: string | null, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const due = await this.#parts.db
        .selectFrom('blob_removal')
        .where('store_id', 'is not distinct from', storeId)
        .where('not_before', '<=', sql<Date>`now()`)
        // A backup takes the lock before its snapshot. This statement sees the rows as they were before it tries the lock. So a row that
        // it returns was added before the snapshot, and no blob of the snapshot is removed.
        .where(sql<boolean>`(select pg_try_advisory_xact_lock_shared(${LOCK}))`)
        .select(['asset_id', 'object_key'])
        .orderBy('not_before')
        .limit(100)
        .execute()
      if (due.length === 0) return
      const gone: typeof due = []
      for (const row of due) {
        if (signal.aborted) break
        const { asset_id: assetId, object_key: objectKey } = row
        try {
          const { driver, name } = await this.#locate({ assetId, storeId, objectKey })
          await driver.remove(name)
          gone.push(row)
        } catch (error) {
          this.#parts.log.warn(
            { err: error, assetId, storeId },
            'the bytes of a deleted blob could not be removed',
          )
          await this.#postponeRemoval(storeId, assetId, error)
          // The other removals from this store would probably fail as well, so they wait for a later sweep.
          if (storeId !== null) break
        }
      }
      await sql`
        delete from blob_removal
         where (asset_id, object_key) in (
           select * from unnest(${gone.map(row => row.asset_id)}::text[], ${gone.map(row => row.object_key)}::text[])
         )`.execute(this.#parts.db)
    }
  }

  async #postponeRemoval(storeId: string | null, assetId: string, error: unknown): Promise<void> {
    const due = this.#parts.db
      .updateTable('blob_removal')
      .where('store_id', 'is not distinct from', storeId)
      .where('not_before', '<=', sql<Date>`now()`)
    await (storeId === null ? due.where('asset_id', '=', assetId) : due)
      .set(({ eb }) => ({
        attempts: eb('attempts', '+', 1),
        detail: error instanceof Error ? error.message : String(error),
        not_before: sql<Date>`now() + least(interval '6 hours', interval '1 minute' * power(2, least(attempts, 10)))`,
      }))
      .execute()
  }
}

/**
 * Returns those of the names in the hub's folder that belong to a blob. A file with a pending removal is known, too: the removal deletes it,
 * so the sweep does not keep it in `lost/` for a week.
 */
export async function knownFiles(db: Db, names: string[]): Promise<Set<string>> {
  const { rows } = await sql<{ asset_id: string }>`
    select asset_id from asset where asset_id = any (${names}) and store_id is null
    union all
    select asset_id from blob_removal where asset_id = any (${names}) and store_id is null`.execute(db)
  return new Set(rows.map(row => row.asset_id))
}
