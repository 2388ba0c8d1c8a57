import { randomUUID } from 'node:crypto'
import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import type { Db, Tx } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'
import { GuardedHttpClient } from './guarded-http-client.ts'
import { S3Bucket } from './s3.ts'
import type { S3Settings } from './s3-settings.ts'
import type { SecretBox } from './secret-box.ts'

/** An object store as its row describes it. */
type ObjectStore = Omit<S3Settings, 'secretAccessKey'> & {
  storeId: string
  sealedSecret: Buffer
  isInstance: boolean
  /** Whether the store honours `If-None-Match: *`; undefined until it was probed. */
  takesConditions: boolean | undefined
}

type NewStore = S3Settings & { storeId?: string; isInstance?: boolean; takesConditions?: boolean }

const UNREADABLE = 'The secret of this object storage cannot be read with the instance key: set it again.'

/** Settings of a store without its secret, as members of the organization see them. */
export function shownSettings(store: ObjectStore): Omit<S3Settings, 'secretAccessKey'> {
  const { endpoint, bucket, region, prefix, forcePathStyle, accessKeyId } = store
  return { endpoint, bucket, region, prefix, forcePathStyle, accessKeyId }
}

/** The object stores of the instance and of repositories. Their secrets are encrypted in the database. */
export class ObjectStores {
  readonly #box: SecretBox
  readonly #http: GuardedHttpClient
  /** Unrestricted client for the instance's own store, whose address the operator chooses. */
  readonly #httpOfOperator = new GuardedHttpClient('everything')

  constructor(box: SecretBox, http: GuardedHttpClient) {
    this.#box = box
    this.#http = http
  }

  /** Returns the store with this id, if it exists. */
  async find(db: Db, storeId: string): Promise<ObjectStore | undefined> {
    const row = await db
      .selectFrom('object_store')
      .where('store_id', '=', storeId)
      .selectAll()
      .executeTakeFirst()
    return (
      row && {
        storeId,
        isInstance: row.is_instance,
        endpoint: row.endpoint,
        bucket: row.bucket,
        region: row.region ?? undefined,
        prefix: row.prefix ?? undefined,
        forcePathStyle: row.force_path_style,
        accessKeyId: row.access_key_id,
        sealedSecret: row.secret_access_key,
        takesConditions: row.takes_conditions ?? undefined,
      }
    )
  }

  /** Returns the repository's own store like `ofRepository`, and locks the repository until the end of the transaction. */
  async lockOfRepository(tx: Tx, repositoryId: string): Promise<ObjectStore | undefined> {
    const { store_id: storeId } = await tx
      .selectFrom('repository')
      .where('repository_id', '=', repositoryId)
      .select('store_id')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    return storeId === null ? undefined : this.find(tx, storeId)
  }

  /** Returns the repository's own store, if it has one. Throws if the repository does not exist. */
  async ofRepository(db: Db, repositoryId: string): Promise<ObjectStore | undefined> {
    const { store_id: storeId } = await db
      .selectFrom('repository')
      .where('repository_id', '=', repositoryId)
      .select('store_id')
      .executeTakeFirstOrThrow()
    return storeId === null ? undefined : this.find(db, storeId)
  }

  /** Returns a store with a client for its bucket. Throws `ActionError` if the secret cannot be decrypted. */
  async open(db: Db, storeId: string): Promise<{ store: ObjectStore; bucket: S3Bucket }> {
    const store = await this.find(db, storeId)
    if (!store) throw new Error(`There is no object store ${storeId}.`)
    const secretAccessKey = this.secretOf(store)
    if (secretAccessKey === undefined) throw new ActionError('Internal', UNREADABLE, { status: 503 })
    return { store, bucket: this.connect({ ...store, secretAccessKey }, store.isInstance) }
  }

  /**
   * Returns whether a store honours `If-None-Match: *`. Probes the store the first time. Throws `S3Failure` if the probe fails.
   */
  async takesConditions(
    db: Db,
    { storeId, takesConditions, prefix }: ObjectStore,
    bucket: S3Bucket,
  ): Promise<boolean> {
    if (takesConditions !== undefined) return takesConditions
    const found = await bucket.probe(prefix)
    await db
      .updateTable('object_store')
      .set({ takes_conditions: found.takesConditions })
      .where('store_id', '=', storeId)
      .execute()
    return found.takesConditions
  }

  /** Returns a client for a bucket. `isInstance` lifts the address checks, because the operator chose the endpoint. */
  connect(settings: S3Settings, isInstance = false): S3Bucket {
    return new S3Bucket(settings, isInstance ? this.#httpOfOperator : this.#http)
  }

  /** Decrypts the secret of a store. Returns undefined if neither the instance key nor the previous one can decrypt it. */
  secretOf({ storeId, sealedSecret }: ObjectStore): string | undefined {
    return this.#box.open(sealedSecret, storeId)?.text
  }

  /** Inserts a store, or updates the store `storeId` if it exists. Returns the id. */
  async save(
    tx: Tx,
    { storeId = randomUUID(), isInstance = false, takesConditions, ...settings }: NewStore,
  ): Promise<string> {
    const values = {
      is_instance: isInstance,
      endpoint: settings.endpoint,
      bucket: settings.bucket,
      region: settings.region ?? null,
      prefix: settings.prefix ?? null,
      force_path_style: settings.forcePathStyle,
      takes_conditions: takesConditions ?? null,
      access_key_id: settings.accessKeyId,
      secret_access_key: this.#box.seal(settings.secretAccessKey, storeId),
    }
    await tx
      .insertInto('object_store')
      .values({ store_id: storeId, ...values })
      .onConflict(conflict => conflict.column('store_id').doUpdateSet(values))
      .execute()
    return storeId
  }

  /** Writes the settings of the instance's own store to its row. Returns its id, or undefined without settings. */
  async saveInstance(db: Db, settings: S3Settings | undefined): Promise<string | undefined> {
    if (!settings) return undefined
    return db.transaction().execute(async tx => {
      await sql`select pg_advisory_xact_lock(hashtext('muster.object-store'))`.execute(tx)
      const found = await tx
        .selectFrom('object_store')
        .where('is_instance', '=', true)
        .where('endpoint', '=', settings.endpoint)
        .where('bucket', '=', settings.bucket)
        .select('store_id')
        .executeTakeFirst()
      return this.save(tx, { ...settings, isInstance: true, ...(found && { storeId: found.store_id }) })
    })
  }

  /** Re-encrypts secrets that are still encrypted with the previous instance key. Logs secrets that neither key decrypts. */
  async renewSecrets(db: Db, log: Logger): Promise<void> {
    const rows = await db.selectFrom('object_store').select(['store_id', 'secret_access_key']).execute()
    for (const { store_id: storeId, secret_access_key: sealed } of rows) {
      const opened = this.#box.open(sealed, storeId)
      if (!opened)
        log.error({ storeId }, 'the secret of an object storage cannot be read with the instance key')
      if (!opened?.isOld) continue
      await db
        .updateTable('object_store')
        .set({ secret_access_key: this.#box.seal(opened.text, storeId) })
        .where('store_id', '=', storeId)
        // Does nothing if another node or a new secret has replaced the value since it was read.
        .where('secret_access_key', '=', sealed)
        .execute()
      log.info({ storeId }, 'the secret of an object storage was encrypted with the new instance key')
    }
  }

  /** Deletes stores that no repository, blob or pending removal refers to, except the instance's own store. */
  async forgetUnused(db: Db, instanceStoreId: string | undefined): Promise<void> {
    await sql`
      delete from object_store s
       where s.store_id is distinct from ${instanceStoreId ?? null}
         and not exists (select from repository r where r.store_id = s.store_id)
         and not exists (select from asset a where a.store_id = s.store_id)
         and not exists (select from blob_removal b where b.store_id = s.store_id)`.execute(db)
  }
}
