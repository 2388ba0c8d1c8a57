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

/** Limits of uploads and checks of uploads on a node, each of which holds a few MiB. Owners are organizations. */
const TRANSFERS = { max: 32, maxPerOwner: 24, maxWaiting: 0 }
/** An upload that brings nothing for so long is given up, in milliseconds; so is one that takes longer than its address lives. */
const STALL_MS = 60_000
const UPLOAD_MS = URL_LIFE_SECS * 1000
/** How long the bytes of one blob may take to be read back, in milliseconds. */
const CHECK_MS = 30 * 60 * 1000
/** How long one sweep removes what is due in one store, in milliseconds; the rest waits for the next. */
const STORE_TURN_MS = 60 * 1000

/** A registered blob. */
export type Asset = Expected & {
  assetId: string
  repositoryId: string
  organizationId: string
  status: string
  /** In which store it lies, under which key; null for the hub's folder. */
  storeId: string | null
  objectKey: string | null
  /** Of an available one whose digest is of another kind. */
  sha256: Buffer | null
}

const ASSET = `
  select a.asset_id as "assetId", a.repository_id as "repositoryId", r.organization_id as "organizationId",
         a.size_bytes as "sizeBytes", a.digest, a.status, a.store_id as "storeId", a.object_key as "objectKey", a.sha256
    from asset a join repository r on r.repository_id = a.repository_id
   where a.asset_id = $1`

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

/** The bytes behind assets, wherever they lie: how they get there, are checked, and get out (catalogue 4.7). */
export class Blobs {
  readonly #db: Db
  readonly #folder: LocalFolder
  /** Buckets that blobs lie in. */
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

  /** Writes, reads and removes a small object in the instance's own store, where there is one; throws what is in the way. */
  async checkInstanceStore(): Promise<void> {
    if (this.#instanceStoreId === undefined) return
    const { store, bucket } = await this.stores.open(this.#db, this.#instanceStoreId)
    await bucket.probe(store.prefix)
  }

  /** A blob by its id; nothing when there is none. */
  async find(db: Db, assetId: string): Promise<Asset | undefined> {
    return (await select<Asset>(db, ASSET, [assetId]))[0]
  }

  /** A blob that was there at the permission check; throws `Forbidden` when it is gone by now. */
  async get(db: Db, assetId: string): Promise<Asset> {
    const asset = await this.find(db, assetId)
    if (!asset) throw refusal()
    return asset
  }

  /** Where a new blob of a repository will lie. Throws `Invalid` for one that is too large for that place. */
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

  /** Addresses to which the bytes of a blob are sent, for clients of both ages. */
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
      // A store that would replace what is there, or knows no such header, is not for others to write to.
      if (!(await this.stores.takesConditions(this.#db, store, bucket))) return throughHub
      return { url, verifiedUrl: await bucket.presignPut(objectKey!, URL_LIFE_SECS, headers), headers }
    } catch (error) {
      throw asActionError(error)
    }
  }

  /** An address from which the bytes of a blob come. Throws `Invalid` for one that is not available. */
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

  /** The file of a blob that lies in the hub's folder. */
  pathOf(assetId: string): string {
    return this.#folder.pathOf(assetId)
  }

  /**
   * Receives the bytes of a blob from a request to one of the hub's own addresses and makes it available. What is wrong is told
   * before the body is read where it can be.
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
        // An object that is right is not written again, since a store may break it while doing so.
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
   * Reads the stored bytes of a blob and compares them with what was registered; resolves to their SHA-256. Bytes that are wrong
   * are removed. Throws `Invalid` for what is missing or wrong, and keeps what was found with the blob.
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
          // So that the right ones can be uploaded, unless they came meanwhile.
          if (await this.#note(asset, 'Mismatched', error.message)) await driver.remove(name)
        } else if (error instanceof S3Failure) await this.#note(asset, 'Error', error.message)
        throw error
      }
    })
  }

  /** Makes a blob available whose bytes were checked; whether it was not before. Locks its row. */
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
   * Removes what blobs left behind that are gone, blobs that were never uploaded, and files that no blob has. A store that is out of
   * reach is asked again later, each time after a longer pause.
   */
  async sweep({ jobId, signal }: { jobId: string; signal: AbortSignal }): Promise<void> {
    await this.#deleteUnfinished(jobId)
    await this.#removeDue(signal)
    await this.stores.forgetUnused(this.#db, this.#instanceStoreId)
    const swept = await this.#folder.sweep(async names => {
      // What was deleted since, or could not be removed yet, is known as well: it waits to be removed, and not for a week.
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

  /** One place after the other, the hub's own disk first: a store that is slow or broken keeps nobody else's bytes. */
  async #removeDue(signal: AbortSignal): Promise<void> {
    const places = await this.#db
      .selectFrom('blob_removal')
      .where('not_before', '<=', sql<Date>`now()`)
      .select('store_id')
      .groupBy('store_id')
      // In another order each time, so that the slow ones are not always before the same others.
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
          // What failed for one would fail for the others of its store.
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

  /** What was received and what the row says become true together; whoever deletes the blob waits or was first. */
  async #publish(asset: Asset, staged: Staged, isVerified: boolean): Promise<void> {
    const { organizationId, repositoryId } = asset
    const isNew = await this.#db.transaction().execute(async tx => {
      const { status } = await lockRow(tx, asset)
      if (isVerified && status === 'Available') throw alreadyThere()
      await staged.commit()
      // The address says what may be done and not who does it; the action that issued it says that.
      return this.markAvailable(tx, asset, staged.sha256, {
        emit: (event, data) =>
          recordEvent(tx, { caller: SYSTEM, scope: { organizationId, repositoryId } }, event, data),
      })
    })
    if (isNew) this.#live.changed({ topic: 'packages', organizationId, repositoryId })
  }

  /** Keeps what a check found with the blob; tells whether it is one still that is not available. */
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

/** The SHA-256 of an available blob, in hex. */
export function sha256HexOf({ digest, sha256 }: Asset): string {
  return sha256Of(digest) ?? sha256!.toString('hex')
}

/** Headers that a verified upload must have (catalogue 4.7). A store that takes them seriously refuses a second upload and others' bytes. */
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

/** A body must say how long it is before it is read. */
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

/** A signal that ends an upload which brings nothing for too long, or takes too long as a whole. */
function stallSignal(request: IncomingMessage): Disposable & { signal: AbortSignal } {
  const controller = new AbortController()
  const { socket } = request
  const endsAtMs = performance.now() + UPLOAD_MS
  let readBytes = socket.bytesRead
  const timer = setInterval(() => {
    // What the client has sent and the hub does not take yet is no stall of the client.
    const isItsTurn = !request.complete && request.readableLength === 0
    if ((socket.bytesRead === readBytes && isItsTurn) || performance.now() > endsAtMs)
      controller.abort(new ActionError('Invalid', 'The upload took too long.', { status: 408 }))
    readBytes = socket.bytesRead
  }, STALL_MS)
  return { signal: controller.signal, [Symbol.dispose]: () => clearInterval(timer) }
}

/** Bytes that are there already: whoever sends them again is told whether they are the same. */
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

/** The row of a blob for as long as the transaction lasts. Throws when it is gone or lies elsewhere by now. */
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

/** What went wrong with the bytes of a blob, for whoever asked; what nobody foresaw stays as it is. */
function asActionError(error: unknown): unknown {
  if (error instanceof WrongBytes) return new ActionError('Invalid', error.message, { cause: error })
  if (error instanceof S3Failure) return error.asActionError()
  if (error instanceof AddressRefused)
    return new ActionError('Internal', error.message, { status: 502, cause: error })
  if (error instanceof UploadCut) return new ActionError('Invalid', error.message, { cause: error })
  return error
}
