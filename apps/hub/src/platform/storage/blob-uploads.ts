import type { IncomingMessage } from 'node:http'
import { Writable } from 'node:stream'
import { ActionError } from '@muster/actions'
import type { DatabaseShares } from '../limits/database-shares.ts'
import type { Shares } from '../limits/shares.ts'
import { SYSTEM } from '../pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
  withinShare,
} from '../pipeline/command-transaction.ts'
import { type Asset, assetGone, findAsset, lockAsset, markAvailable, noteCheck } from './assets.ts'
import { type BlobGrant, URL_LIFE_SECS } from './blob-urls.ts'
import { Digester, type Expected, sha256Of, WrongBytes } from './digest.ts'
import type { LocateBlob, Staged } from './driver.ts'
import { digestOf, S3Failure, UNSIGNED } from './s3.ts'
import { asActionError } from './storage-error.ts'
import { pipeUpload } from './upload-stream.ts'

/** Time without new bytes after which an upload is aborted, in milliseconds. */
const STALL_MS = 60_000
/** Maximum duration of an upload, in milliseconds: 2 h, the lifetime of an upload URL. */
const UPLOAD_MS = URL_LIFE_SECS * 1000
/** Deadline for reading back the bytes of one blob: 30 minutes, in milliseconds. */
const CHECK_MS = 30 * 60 * 1000

type BlobUploadsOptions = CommandParts & {
  locate: LocateBlob
  shares: Pick<Shares, 'runUpload'>
  databaseShares: DatabaseShares
}

/** Receives the bytes of blobs and compares them with the registered size and digest. */
export class BlobUploads {
  readonly #parts: CommandParts
  readonly #locate: LocateBlob
  readonly #shares: BlobUploadsOptions['shares']
  readonly #databaseShares: DatabaseShares

  constructor({ locate, shares, databaseShares, ...parts }: BlobUploadsOptions) {
    this.#parts = parts
    this.#locate = locate
    this.#shares = shares
    this.#databaseShares = databaseShares
  }

  /**
   * Receives the bytes of a blob from a request to one of the hub's own URLs, and makes the blob available. Refuses a wrong request
   * before its body is read where possible.
   */
  async receive({ assetId, purpose, userId }: BlobGrant, request: IncomingMessage): Promise<void> {
    const asset = await findAsset(this.#parts.db, assetId)
    if (!asset) throw assetGone()
    requireLength(request, asset.sizeBytes)
    const isVerified = purpose === 'verified-upload'
    if (isVerified) requireHeaders(request, verifiedHeaders(asset))
    await this.#limited(userId, async () => {
      using stall = stallSignal(request)
      try {
        const { driver, name } = await this.#locate(asset)
        const storedBytes = await driver.sizeOf(name)
        if (isVerified && storedBytes !== undefined) throw alreadyThere()
        // A verified object is not written again, since the store may damage it in the process. The body is only hashed.
        const isThere =
          asset.status === 'Available' && storedBytes === asset.sizeBytes && asset.storeId !== null
        const staged = isThere
          ? await onlyHashed(asset, request, stall.signal)
          : await driver.stage(name, asset, request, stall.signal)
        try {
          await this.#publish(asset, staged, isVerified, userId)
        } finally {
          await staged.discard()
        }
      } catch (error) {
        throw stall.signal.aborted ? stall.signal.reason : error
      }
    })
  }

  /**
   * Reads the stored bytes of a blob for a person and compares them with the registered digest. Resolves to their SHA-256. Throws `Invalid`
   * for missing or wrong bytes, after storing the finding in the blob's row. Wrong bytes are removed.
   */
  async check(asset: Asset, userId: string | undefined): Promise<Buffer> {
    return this.#limited(userId, async () => {
      const { driver, name } = await this.#locate(asset)
      try {
        if ((await driver.sizeOf(name)) === undefined) {
          await noteCheck(this.#parts.db, asset, 'Missing')
          throw new ActionError('Invalid', 'The bytes of this blob have not been uploaded.', { status: 409 })
        }
        return await digestOf(driver, name, asset, AbortSignal.timeout(CHECK_MS))
      } catch (error) {
        if (error instanceof WrongBytes) {
          // Removes the wrong bytes, so that the right bytes can be uploaded. They stay if `noteCheck` returns false, because the
          // blob has become available or was deleted.
          if (await noteCheck(this.#parts.db, asset, 'Mismatched', error.message)) await driver.remove(name)
        } else if (error instanceof S3Failure) await noteCheck(this.#parts.db, asset, 'Error', error.message)
        throw error
      }
    })
  }

  /**
   * Makes the staged bytes readable (`staged.commit`) in the transaction that sets the blob's row to `Available`. The row lock
   * serializes `staged.commit` and a deletion of the blob.
   */
  async #publish(
    asset: Asset,
    staged: Staged,
    isVerified: boolean,
    userId: string | undefined,
  ): Promise<void> {
    const { organizationId, repositoryId } = asset
    let committing: Promise<void> | undefined
    const publish = async ({ tx, events, changed }: CommandTransaction): Promise<void> => {
      const { status } = await lockAsset(tx, asset)
      if (isVerified && status === 'Available') throw alreadyThere()
      // A further attempt of the transaction finds the bytes in their place.
      committing ??= staged.commit()
      await committing
      if (await markAvailable(tx, asset, staged.sha256, events)) changed('packages')
    }
    // A signed URL does not identify a person, so the event is recorded as System. The action that issued the URL is audited.
    await commandTransaction(
      publish,
      { caller: SYSTEM, scope: { organizationId, repositoryId } },
      withinShare(this.#parts, this.#databaseShares.ofPerson(userId, 'upload')),
    )
  }

  async #limited<Result>(userId: string | undefined, work: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#shares.runUpload(userId, work)
    } catch (error) {
      throw asActionError(error)
    }
  }
}

/** Headers that a verified upload must have (docs/api.md 4.7). A store that honours them refuses a second upload and wrong bytes. */
export function verifiedHeaders({ assetId, digest }: Asset): Record<string, string> {
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
    // While received bytes wait in the buffer, the hub is slow and not the client, so the upload does not count as stalled.
    const awaitsClient = !request.complete && request.readableLength === 0
    if ((socket.bytesRead === readBytes && awaitsClient) || performance.now() > endsAtMs)
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

function alreadyThere(): ActionError {
  return new ActionError('Invalid', 'The bytes of this blob were uploaded already.', { status: 412 })
}
