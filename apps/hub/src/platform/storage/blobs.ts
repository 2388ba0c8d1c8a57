import { ActionError } from '@muster/actions'
import type { Db, Tx } from '../database/client/connection.ts'
import type { DatabaseShares } from '../limits/database-shares.ts'
import type { Shares } from '../limits/shares.ts'
import { attachment } from '../net/attachment.ts'
import type { CommandParts } from '../pipeline/command-transaction.ts'
import { type Asset, requireAvailable, sha256HexOf } from './assets.ts'
import { BlobSweep } from './blob-sweep.ts'
import { BlobUploads, verifiedHeaders } from './blob-uploads.ts'
import { type BlobUrls, URL_LIFE_SECS } from './blob-urls.ts'
import type { LocateBlob } from './driver.ts'
import type { LocalFolder } from './local-folder.ts'
import type { ObjectStores } from './object-stores.ts'
import { MAX_S3_OBJECT_BYTES } from './s3.ts'
import { asActionError } from './storage-error.ts'

/** Dependencies of `Blobs`. */
export type BlobsOptions = CommandParts & {
  folder: LocalFolder
  stores: ObjectStores
  /** The instance's own object store, if it has one. */
  instanceStoreId: string | undefined
  urls: BlobUrls
  shares: Pick<Shares, 'runUpload'>
  databaseShares: DatabaseShares
}

/** The bytes of blobs in the hub's folder and in object stores (docs/api.md 4.7): places, URLs, uploads and removals. */
export class Blobs {
  readonly #db: Db
  readonly #folder: LocalFolder
  /** The object stores of the instance and of repositories. */
  readonly stores: ObjectStores
  readonly uploads: BlobUploads
  readonly sweep: BlobSweep
  readonly #instanceStoreId: string | undefined
  readonly #urls: BlobUrls

  constructor({ folder, stores, instanceStoreId, urls, shares, databaseShares, ...parts }: BlobsOptions) {
    const { db } = parts
    const locate: LocateBlob = async ({ assetId, storeId, objectKey }) => {
      if (storeId === null) return { driver: folder, name: assetId }
      const { bucket } = await stores.open(db, storeId)
      return { driver: bucket, name: objectKey! }
    }
    this.#db = db
    this.#folder = folder
    this.stores = stores
    this.uploads = new BlobUploads({ ...parts, locate, shares, databaseShares })
    this.sweep = new BlobSweep({ ...parts, folder, stores, instanceStoreId, locate })
    this.#instanceStoreId = instanceStoreId
    this.#urls = urls
  }

  /** Probes the instance's own object store, if there is one, with a small object. Throws if that fails. */
  async checkInstanceStore(): Promise<void> {
    if (this.#instanceStoreId === undefined) return
    const { store, bucket } = await this.stores.open(this.#db, this.#instanceStoreId)
    await bucket.probe(store.prefix)
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

  /**
   * Returns URLs for the upload of a blob by a person: `url` for older clients, `verifiedUrl` with `headers` for newer clients. Uploads count
   * for the person.
   */
  async uploadUrls(
    asset: Asset,
    userId: string | undefined,
  ): Promise<{ url: string; verifiedUrl: string; headers: Record<string, string> }> {
    const { assetId, objectKey } = asset
    const url = this.#urls.issue({ purpose: 'upload', assetId, userId })
    const headers = verifiedHeaders(asset)
    const throughHub = {
      url,
      verifiedUrl: this.#urls.issue({ purpose: 'verified-upload', assetId, userId }),
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
}
