import { randomUUID } from 'node:crypto'
import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import type { Db, Tx } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'
import { GuardedHttpClient } from './guarded-http-client.ts'
import { S3Bucket } from './s3.ts'
import type { S3Settings } from './s3-settings.ts'
import type { SecretBox } from './secret-box.ts'

/** A store as its row has it. */
type ObjectStore = Omit<S3Settings, 'secretAccessKey'> & {
  storeId: string
  sealedSecret: Buffer
  isInstance: boolean
  /** Whether it refuses to replace an object when asked so; nothing until it was tried. */
  takesConditions: boolean | undefined
}

/** What is written of a store. */
type NewStore = S3Settings & { storeId?: string; isInstance?: boolean; takesConditions?: boolean }

const UNREADABLE = 'The secret of this object storage cannot be read with the instance key: set it again.'

/** The object stores that blobs lie in: the instance's own and those of repositories, each with its encrypted secret. */
export class ObjectStores {
  readonly #box: SecretBox
  readonly #http: GuardedHttpClient
  /** The operator names the address of the instance's own store, so that may be anywhere. */
  readonly #httpOfOperator = new GuardedHttpClient('everything')

  constructor(box: SecretBox, http: GuardedHttpClient) {
    this.#box = box
    this.#http = http
  }

  /** A store by its id, or nothing. */
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

  /** The store that a repository brings, if it does. Throws for a repository that is not there. */
  async ofRepository(db: Db, repositoryId: string): Promise<ObjectStore | undefined> {
    const { store_id: storeId } = await db
      .selectFrom('repository')
      .where('repository_id', '=', repositoryId)
      .select('store_id')
      .executeTakeFirstOrThrow()
    return storeId === null ? undefined : this.find(db, storeId)
  }

  /** The way to a store with its keys. Throws `ActionError` when the secret cannot be read. */
  async open(db: Db, storeId: string): Promise<{ store: ObjectStore; bucket: S3Bucket }> {
    const store = await this.find(db, storeId)
    if (!store) throw new Error(`There is no object store ${storeId}.`)
    const secretAccessKey = this.secretOf(store)
    if (secretAccessKey === undefined) throw new ActionError('Internal', UNREADABLE, { status: 503 })
    return { store, bucket: this.connect({ ...store, secretAccessKey }, store.isInstance) }
  }

  /** Whether a store refuses to replace an object when asked so; tries it the first time. Throws `S3Failure`. */
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

  /** A bucket by its settings. */
  connect(settings: S3Settings, isInstance = false): S3Bucket {
    return new S3Bucket(settings, isInstance ? this.#httpOfOperator : this.#http)
  }

  /** The secret of a store; nothing when the instance key does not open it. */
  secretOf({ storeId, sealedSecret }: ObjectStore): string | undefined {
    return this.#box.open(sealedSecret, storeId)?.text
  }

  /** Writes a store, in place of an earlier one if its id is given; its id. */
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

  /** Brings the row of the instance's own store up to date with its settings; its id, or nothing without settings. */
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

  /** Encrypts anew what is still encrypted with the instance key before; tells what neither key opens. */
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
        // Another node was quicker, or somebody has set another secret.
        .where('secret_access_key', '=', sealed)
        .execute()
      log.info({ storeId }, 'the secret of an object storage was encrypted with the new instance key')
    }
  }

  /** Forgets stores in which nothing lies any more and that nobody uses. */
  async forgetUnused(db: Db, instanceStoreId: string | undefined): Promise<void> {
    await sql`
      delete from object_store s
       where s.store_id is distinct from ${instanceStoreId ?? null}
         and not exists (select from repository r where r.store_id = s.store_id)
         and not exists (select from asset a where a.store_id = s.store_id)
         and not exists (select from blob_removal b where b.store_id = s.store_id)`.execute(db)
  }
}
