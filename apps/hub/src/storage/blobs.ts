import type { IncomingMessage } from 'node:http'
import { Writable } from 'node:stream'
import { ActionError } from '@muster/actions'
import { FairLimiter, LimiterRejection } from '@muster/concurrency'
import { sql } from 'kysely'
import { refusal } from '../access/authorize.ts'
import { recordEvent } from '../audit/events.ts'
import { SYSTEM } from '../caller.ts'
import type { CommandTransaction } from '../command-transaction.ts'
import { type Db, select, type Tx } from '../database/client/connection.ts'
import type { LiveHub } from '../live/live-hub.ts'
import { attachment } from '../net/attachment.ts'
import type { Logger } from '../runtime/log.ts'
import { type BlobGrant, type BlobUrls, URL_LIFE_SECS } from './blob-urls.ts'
import { Digester, type Expected, sha256Of, WrongBytes } from './digest.ts'
import type { BlobDriver, Staged } from './driver.ts'
import { AddressRefused } from './guarded-http-client.ts'
import type { LocalFolder } from './local-folder.ts'
import type { ObjectStores } from './object-stores.ts'
import { digestOf, MAX_S3_OBJECT_BYTES, S3Failure, UNSIGNED } from './s3.ts'
import { pipeUpload, UploadCut } from './upload-stream.ts'

/** Limits of concurrent uploads and checks on a node. Each holds a few MiB of memory. Owners are organizations. */
const TRANSFERS = { max: 32, maxPerOwner: 24, maxWaiting: 0 }
/** An upload is aborted after 60 s without new bytes, or after the validity of its URL, 2 h. Both in milliseconds. */
const STALL_MS = 60_000
const UPLOAD_MS = URL_LIFE_SECS * 1000
/** Deadline for reading back the bytes of one blob: 30 minutes, in milliseconds. */
const CHECK_MS = 30 * 60 * 1000
/** Time that one sweep spends on removals in one object store: 1 minute, in milliseconds. The rest waits for the next sweep. */
const STORE_TURN_MS = 60 * 1000

/** A registered blob. */
export type Asset = Expected & {
  assetId: string
  repositoryId: string
  organizationId: string
  status: string
  /** Object store of the blob, and its key in there. Both are null for the hub's folder. */
  storeId: string | null
  objectKey: string | null
  /** SHA-256 of an available blob that was registered with another digest algorithm, else null. */
  sha256: Buffer | null
}

const ASSET = `
  select a.asset_id as "assetId", a.repository_id as "repositoryId", r.organization_id as "organizationId",
         a.size_bytes as "sizeBytes", a.digest, a.status, a.store_id as "storeId", a.object_key as "objectKey", a.sha256
    from asset a join repository r on r.repository_id = a.repository_id
   where a.asset_id = $1`

/** Dependencies of `Blobs`. */
export type BlobsOptions = {
  db: Db
  folder: LocalFolder
  stores: ObjectStores
  /** The instance's own object store, if it has one. */
  instanceStoreId: string | undefined
  urls: BlobUrls
  live: LiveHub
  log: Logger
}

/** The bytes of blobs in the hub's folder and in object stores: upload, check, download and removal (catalogue 4.7). */
export class Blobs {
  readonly #db: Db
  readonly #folder: LocalFolder
  /** The object stores of the instance and of repositories. */
  readonly stores: ObjectStores
  readonly #instanceStoreId: string | undefined
  readonly #urls: BlobUrls
  readonly #live: LiveHub
  readonly #log: Logger
  readonly #transfers = new FairLimiter(TRANSFERS)

  constructor({ db, folder, stores, instanceStoreId, urls, live, log }: BlobsOptions) {
    this.#db = db
    this.#folder = folder
    this.stores = stores
    this.#instanceStoreId = instanceStoreId
    this.#urls = urls
    this.#live = live
    this.#log = log
  }

  /** Probes the instance's own object store, if there is one, with a small object. Throws if that fails. */
  async checkInstanceStore(): Promise<void> {
    if (this.#instanceStoreId === undefined) return
    const { store, bucket } = await this.stores.open(this.#db, this.#instanceStoreId)
    await bucket.probe(store.prefix)
  }

  /** Returns the blob with this id, if it exists. */
  async find(db: Db, assetId: string): Promise<Asset | undefined> {
    return (await select<Asset>(db, ASSET, [assetId]))[0]
  }

  /** Returns a blob that existed at the permission check. Throws `Forbidden` if it was deleted since. */
  async get(db: Db, assetId: string): Promise<Asset> {
    const asset = await this.find(db, assetId)
    if (!asset) throw refusal()
    return asset
  }

  /** Returns store and key for a new blob of a repository. Throws `Invalid` if the blob is too large for the store. */
  async placeFor(
    tx: Tx,
    repositoryId: string,
    assetId: string,
    sizeBytes: number,
  ): Promise<Pick<Asset, 'storeId' | 'objectKey'>> {
    const instanceStoreId = this.#instanceStoreId
    const store =
      (await this.stores.ofRepository(tx, repositoryId)) ??
      (instanceStoreId === undefined ? undefined : await this.stores.find(tx, instanceStoreId))
    if (!store) return { storeId: null, objectKey: null }
    if (sizeBytes > MAX_S3_OBJECT_BYTES)
      throw new ActionError(
        'Invalid',
        `size: found ${sizeBytes} bytes, expected at most ${MAX_S3_OBJECT_BYTES}, which is what an object storage takes at once.`,
      )
    return { storeId: store.storeId, objectKey: store.prefix ? `${store.prefix}/${assetId}` : assetId }
  }

  /** Returns URLs for the upload of a blob: `url` for older clients, `verifiedUrl` with `headers` for newer ones. */
  async uploadUrls(
    asset: Asset,
  ): Promise<{ url: string; verifiedUrl: string; headers: Record<string, string> }> {
    const { assetId, objectKey } = asset
    const url = this.#urls.issue({ purpose: 'upload', assetId })
    const headers = verifiedHeaders(asset)
    const throughHub = {
      url,
      verifiedUrl: this.#urls.issue({ purpose: 'verified-upload', assetId }),
      headers,
    }
    if (asset.storeId === null) return throughHub
    try {
      const { store, bucket } = await this.stores.open(this.#db, asset.storeId)
      // Clients may write directly only to a store that refuses to replace an object (`If-None-Match`).
      if (!(await this.stores.takesConditions(this.#db, store, bucket))) return throughHub
      return { url, verifiedUrl: await bucket.presignPut(objectKey!, URL_LIFE_SECS, headers), headers }
    } catch (error) {
      throw asActionError(error)
    }
  }

  /** Returns a URL for the download of a blob. Throws `Invalid` if the blob is not available. */
  async downloadUrl(db: Db, asset: Asset, filename: string | undefined): Promise<string> {
    requireAvailable(asset)
    const { assetId, storeId, objectKey } = asset
    if (storeId === null)
      return this.#urls.issue({
        purpose: 'download',
        assetId,
        filename,
        sha256: sha256HexOf(asset),
      })
    const { bucket } = await this.stores.open(db, storeId)
    return bucket.presignGet(objectKey!, URL_LIFE_SECS, {
      'response-content-disposition': attachment(filename ?? assetId),
      'response-content-type': 'application/octet-stream',
    })
  }

  /** Returns the path of a blob in the hub's folder. */
  pathOf(assetId: string): string {
    return this.#folder.pathOf(assetId)
  }

  /**
   * Receives the bytes of a blob from a request to one of the hub's own URLs, and makes the blob available. Refuses a wrong request
   * before its body is read where possible.
   */
  async receive({ assetId, purpose }: BlobGrant, request: IncomingMessage): Promise<void> {
    const asset = await this.find(this.#db, assetId)
    if (!asset) throw absent()
    requireLength(request, asset.sizeBytes)
    const isVerified = purpose === 'verified-upload'
    if (isVerified) requireHeaders(request, verifiedHeaders(asset))
    await this.#limited(asset, async () => {
      using stall = stallSignal(request)
      try {
        const { driver, name } = await this.#placeOf(asset)
        const storedBytes = await driver.sizeOf(name)
        if (isVerified && storedBytes !== undefined) throw alreadyThere()
        // An object that was verified is not written again, since the store may damage it. The body is only hashed.
        const isThere =
          asset.status === 'Available' && storedBytes === asset.sizeBytes && driver !== this.#folder
        const staged = isThere
          ? await onlyHashed(asset, request, stall.signal)
          : await driver.stage(name, asset, request, stall.signal)
        try {
          await this.#publish(asset, staged, isVerified)
        } finally {
          await staged.discard()
        }
      } catch (error) {
        throw stall.signal.aborted ? stall.signal.reason : error
      }
    })
  }

  /**
   * Reads the stored bytes of a blob and compares them with the registered digest. Resolves to their SHA-256. Throws `Invalid` for
   * missing or wrong bytes, after storing the finding in the blob's row. Wrong bytes are removed.
   */
  async check(asset: Asset): Promise<Buffer> {
    return this.#limited(asset, async () => {
      const { driver, name } = await this.#placeOf(asset)
      try {
        if ((await driver.sizeOf(name)) === undefined) {
          await this.#note(asset, 'Missing')
          throw new ActionError('Invalid', 'The bytes of this blob have not been uploaded.', { status: 409 })
        }
        return await digestOf(driver, name, asset, AbortSignal.timeout(CHECK_MS))
      } catch (error) {
        if (error instanceof WrongBytes) {
          // Removes the wrong bytes, so that the right ones can be uploaded. `#note` returns false if that has happened already.
          if (await this.#note(asset, 'Mismatched', error.message)) await driver.remove(name)
        } else if (error instanceof S3Failure) await this.#note(asset, 'Error', error.message)
        throw error
      }
    })
  }

  /** Makes a checked blob available. Returns whether it was not available before. Locks its row. */
  async markAvailable(
    tx: Tx,
    asset: Asset,
    sha256: Buffer,
    events: CommandTransaction['events'],
  ): Promise<boolean> {
    const before = await lockRow(tx, asset)
    await tx
      .updateTable('asset')
      .set({
        status: 'Available',
        sha256: sha256Of(asset.digest) === undefined ? sha256 : null,
        storage_status: 'Verified',
        storage_checked_at: sql<Date>`now()`,
        storage_detail: null,
      })
      .where('asset_id', '=', asset.assetId)
      .execute()
    if (before.status === 'Available') return false
    const { repositoryId, assetId } = asset
    await events.emit('repositories_AssetAvailable', { repositoryId, assetId })
    return true
  }

  /**
   * Removes the bytes of deleted blobs, blobs that were never uploaded, and files without a blob. Removals from an unreachable store
   * are retried after growing pauses.
   */
  async sweep({ jobId, signal }: { jobId: string; signal: AbortSignal }): Promise<void> {
    await this.#deleteUnfinished(jobId)
    await this.#removeDue(signal)
    await this.stores.forgetUnused(this.#db, this.#instanceStoreId)
    const swept = await this.#folder.sweep(async names => {
      // A file with a pending removal counts as known: the removal deletes it, so it is not kept aside for a week.
      const { rows } = await sql<{ asset_id: string }>`
        select asset_id from asset where asset_id = any (${names}) and store_id is null
        union all
        select asset_id from blob_removal where asset_id = any (${names}) and store_id is null`.execute(
        this.#db,
      )
      return new Set(rows.map(row => row.asset_id))
    })
    if (swept.removed + swept.lost > 0) this.#log.info(swept, 'files without blobs were swept')
  }

  async #deleteUnfinished(jobId: string): Promise<void> {
    const gone = await this.#db.transaction().execute(async tx => {
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
        await recordEvent(tx, { caller: SYSTEM, scope, jobId }, 'repositories_AssetDeleted', {
          repositoryId,
          assetId,
        })
      }
      return rows
    })
    for (const { organizationId, repositoryId } of gone)
      this.#live.changed({ topic: 'packages', organizationId, repositoryId })
  }

  /** Removes from the hub's folder first, then from each store with a time limit, so that a slow store does not block others. */
  async #removeDue(signal: AbortSignal): Promise<void> {
    const places = await this.#db
      .selectFrom('blob_removal')
      .where('not_before', '<=', sql<Date>`now()`)
      .select('store_id')
      .groupBy('store_id')
      // Random order, so that slow stores do not delay the same other stores each time.
      .orderBy(sql`store_id is not null, random()`)
      .execute()
    for (const { store_id: storeId } of places) {
      const turn = storeId === null ? signal : AbortSignal.any([signal, AbortSignal.timeout(STORE_TURN_MS)])
      await this.#removeDueFrom(storeId, turn)
    }
  }

  async #removeDueFrom(storeId: string | null, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const due = await this.#db
        .selectFrom('blob_removal')
        .where('store_id', 'is not distinct from', storeId)
        .where('not_before', '<=', sql<Date>`now()`)
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
          const { driver, name } = await this.#placeOf({ assetId, storeId, objectKey })
          await driver.remove(name)
          gone.push(row)
        } catch (error) {
          this.#log.warn({ err: error, assetId, storeId }, 'the bytes of a deleted blob could not be removed')
          await this.#postponeRemoval(storeId, assetId, error)
          // The other removals from this store would fail as well.
          if (storeId !== null) break
        }
      }
      await sql`
        delete from blob_removal
         where (asset_id, object_key) in (
           select * from unnest(${gone.map(row => row.asset_id)}::text[], ${gone.map(row => row.object_key)}::text[])
         )`.execute(this.#db)
    }
  }

  async #postponeRemoval(storeId: string | null, assetId: string, error: unknown): Promise<void> {
    const due = this.#db
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

  async #placeOf({
    assetId,
    storeId,
    objectKey,
  }: Pick<Asset, 'assetId' | 'storeId' | 'objectKey'>): Promise<{ driver: BlobDriver; name: string }> {
    if (storeId === null) return { driver: this.#folder, name: assetId }
    const { bucket } = await this.stores.open(this.#db, storeId)
    return { driver: bucket, name: objectKey! }
  }

  /** Commits the bytes in the transaction that updates the row. The row lock serializes this with a deletion of the blob. */
  async #publish(asset: Asset, staged: Staged, isVerified: boolean): Promise<void> {
    const { organizationId, repositoryId } = asset
    const isNew = await this.#db.transaction().execute(async tx => {
      const { status } = await lockRow(tx, asset)
      if (isVerified && status === 'Available') throw alreadyThere()
      await staged.commit()
      // A signed URL does not identify a person, so the event is recorded as System. The action that issued the URL is audited.
      return this.markAvailable(tx, asset, staged.sha256, {
        emit: (event, data) =>
          recordEvent(tx, { caller: SYSTEM, scope: { organizationId, repositoryId } }, event, data),
      })
    })
    if (isNew) this.#live.changed({ topic: 'packages', organizationId, repositoryId })
  }

  /** Stores the finding of a check in the blob's row. Returns false if the blob has become available or was deleted. */
  async #note(
    { assetId }: Asset,
    status: 'Missing' | 'Mismatched' | 'Error',
    detail?: string,
  ): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('asset')
      .set({ storage_status: status, storage_checked_at: sql<Date>`now()`, storage_detail: detail ?? null })
      .where('asset_id', '=', assetId)
      .where('status', '<>', 'Available')
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  async #limited<Result>({ organizationId }: Asset, work: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#transfers.run(work, { owner: organizationId })
    } catch (error) {
      if (error instanceof LimiterRejection)
        throw new ActionError('RateLimited', 'Too many uploads at once.', { retryAfterSecs: 5 })
      throw asActionError(error)
    }
  }
}

/** Returns the SHA-256 of an available blob, in hex. */
export function sha256HexOf({ digest, sha256 }: Asset): string {
  return sha256Of(digest) ?? sha256!.toString('hex')
}

/** Headers that a verified upload must have (catalogue 4.7). A store that honours them refuses a second upload and wrong bytes. */
function verifiedHeaders({ assetId, digest }: Asset): Record<string, string> {
  return {
    'x-amz-meta-nexigon-asset-id': assetId,
    'x-amz-meta-nexigon-digest': digest,
    'if-none-match': '*',
    'x-amz-content-sha256': sha256Of(digest) ?? UNSIGNED,
  }
}

function requireHeaders({ headers }: IncomingMessage, expected: Record<string, string>): void {
  for (const [name, value] of Object.entries(expected)) {
    if (headers[name] !== value)
      throw new ActionError('Forbidden', `${name}: found ${headers[name] ?? 'nothing'}, expected ${value}.`)
  }
}

/** Refuses a body without `Content-Length` or with another length than registered, before it is read. */
function requireLength({ headers }: IncomingMessage, sizeBytes: number): void {
  const length = headers['content-length']
  if (length === undefined)
    throw new ActionError('Invalid', 'Content-Length: found nothing, expected the size of the file.', {
      status: 411,
    })
  if (Number(length) !== sizeBytes)
    throw new ActionError(
      'Invalid',
      `Content-Length: found ${length}, expected ${sizeBytes}, which is the size that was registered.`,
    )
}

/** Returns a signal that aborts an upload without new bytes for `STALL_MS`, or after `UPLOAD_MS`. */
function stallSignal(request: IncomingMessage): Disposable & { signal: AbortSignal } {
  const controller = new AbortController()
  const { socket } = request
  const endsAtMs = performance.now() + UPLOAD_MS
  let readBytes = socket.bytesRead
  const timer = setInterval(() => {
    // While received bytes wait in the buffer, the hub is slow and not the client.
    const isItsTurn = !request.complete && request.readableLength === 0
    if ((socket.bytesRead === readBytes && isItsTurn) || performance.now() > endsAtMs)
      controller.abort(new ActionError('Invalid', 'The upload took too long.', { status: 408 }))
    readBytes = socket.bytesRead
  }, STALL_MS)
  return { signal: controller.signal, [Symbol.dispose]: () => clearInterval(timer) }
}

/** Compares a repeated upload with the registered digest without storing it. Throws `WrongBytes` if it differs. */
async function onlyHashed(expected: Expected, body: IncomingMessage, signal: AbortSignal): Promise<Staged> {
  const digester = new Digester(expected)
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      digester.update(chunk)
      done()
    },
  })
  await pipeUpload(body, sink, signal)
  return { sha256: digester.finish(), commit: async () => {}, discard: async () => {} }
}

/** Locks the row of a blob until the transaction ends. Throws if the blob was deleted or moved to another store. */
async function lockRow(tx: Tx, { assetId, objectKey }: Asset): Promise<{ status: string }> {
  const row = await tx
    .selectFrom('asset')
    .where('asset_id', '=', assetId)
    .select(['status', 'object_key'])
    .forUpdate()
    .executeTakeFirst()
  if (!row) throw absent()
  if (row.object_key !== objectKey)
    throw new ActionError('Invalid', 'This blob lies in another place by now: ask for another address.', {
      status: 409,
    })
  return row
}

function requireAvailable({ status }: Asset): void {
  if (status !== 'Available')
    throw new ActionError('Invalid', 'The bytes of this blob have not been uploaded yet.', { status: 409 })
}

function absent(): ActionError {
  return new ActionError('Invalid', 'This blob is gone.', { status: 404 })
}

function alreadyThere(): ActionError {
  return new ActionError('Invalid', 'The bytes of this blob were uploaded already.', { status: 412 })
}

/** Converts known storage errors into an `ActionError` for the caller. Returns other errors unchanged. */
function asActionError(error: unknown): unknown {
  if (error instanceof WrongBytes) return new ActionError('Invalid', error.message, { cause: error })
  if (error instanceof S3Failure) return error.asActionError()
  if (error instanceof AddressRefused)
    return new ActionError('Internal', error.message, { status: 502, cause: error })
  if (error instanceof UploadCut) return new ActionError('Invalid', error.message, { cause: error })
  return error
}
