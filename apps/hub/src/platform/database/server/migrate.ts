import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { VERSION } from '@muster/actions/version'
import { waitUpTo } from '@muster/concurrency'
import pg from 'pg'
import { installQueue, isQueueCurrent } from '../../jobs/install.ts'
import type { Logger } from '../../runtime/log.ts'
import { isDeadlock, sqlState } from '../client/errors.ts'
import { type LockTimes, LockWaits } from './lock-waits.ts'
import { refuseMarked } from './marks.ts'
import { MigrationError } from './migration-error.ts'
import { lockTables, tryLockTables } from './table-lock.ts'

export { MigrationError }

const FOLDER = join(import.meta.dirname, '../migrations')

/**
 * Oldest release that can run on the database schema of this release: the previous release, if there is one. It is raised with each release
 * (CONTRIBUTING.md, recipe 2).
 */
const OLDEST_RELEASE = '0.1.0'
/** First line of a migration on whose schema the previous release cannot run, such as a migration that drops a column. */
const CONTRACT = /^-- contract\b/

/**
 * First line of a migration that builds an index on a large table. It runs outside of a transaction, so that other nodes go on writing to the
 * table. The index is its only statement.
 */
const CONCURRENT = /^-- concurrent\b/
const INDEX = /^((?:--.*\n|\s)*create (?:unique )?index )concurrently (if not exists (\w+) on [^;]*;?\s*)$/
/** Attempts to build an index. A waiting node of an older release holds a snapshot, which PostgreSQL may take for a deadlock. */
const INDEX_ATTEMPTS = 5
/** Interval of attempts to take the lock of migrations, in milliseconds. */
const LOCK_POLL_MS = 100
/** Deadline of a statement of `requireUsableSchema` and of its connection, in milliseconds. Heartbeats of a node wait for it. */
const DEADLINE_MS = 10_000
/** Time for closing the connection of `requireUsableSchema`, in milliseconds. */
const CLOSE_MS = 1_000

/**
 * Former checksums of migrations whose comments changed after a release. An instance may have applied the former or the current
 * text of such a migration.
 */
const FORMER_CHECKSUMS: Record<string, string> = {
  '0006_device_counts.sql': '42399c9908e899b311eb11474c0c75cbab79a86617f5a08d6507b3acde21a916',
}

type Migration = {
  name: string
  sql: string
  checksum: string
  isContract: boolean
  /** Name of the index of a migration that begins with `-- concurrent`. */
  index: string | undefined
}
/**
 * Row of an applied migration. `oldest_release` is the oldest release that can run after the migration. It is null if only releases that
 * include the migration can.
 */
type Applied = { name: string; checksum: string; oldest_release: string | null }

/**
 * Migrates the hub's schema and then the schema of the job queue. Migrations are plain SQL files that run in number order, forward
 * only, each in its own transaction. An advisory lock lets only one of several starting nodes run them. A migration that begins with
 * `-- contract` waits until no node is alive whose release does not know it. One that begins with `-- concurrent` builds an index outside of
 * a transaction. A migration that gets no lock within its lock timeout is repeated until a deadline (`LockWaits`), so that other nodes
 * never wait behind it for long. Resolves to the name of the newest migration that this release knows. Throws `MigrationError` when an
 * applied file was edited, when this release is too old for the schema, or when a migration fails, and with `mayWait: false` when another
 * process holds the lock or a backup runs.
 */
export async function migrate(
  owner: pg.PoolConfig,
  log: Logger,
  folder = FOLDER,
  { mayWait = true, lockTimes }: { mayWait?: boolean; lockTimes?: LockTimes } = {},
): Promise<string> {
  const migrations = await readMigrations(folder)
  const client = new pg.Client(owner)
  // Without a listener, a connection that breaks between two statements would end the process. With the listener, the next
  // statement fails instead.
  client.on('error', () => {})
  await client.connect()
  try {
    if (!(await takeLock(client, 'pg_try_advisory_lock', mayWait)))
      throw new MigrationError(
        'Another process is migrating this database: wait until it has ended, and look again.',
      )
    await refuseMarked(client)
    const locks = new LockWaits(owner, client, log, lockTimes)
    let isLocked = false
    const awaitBackup = async (): Promise<void> => {
      if (isLocked) return
      if (!(await tryLockTables(client))) {
        if (!mayWait)
          throw new MigrationError('A backup of this database runs: wait until it has ended, and look again.')
        log.info('the migration waits until a running backup has read all tables')
        await lockTables(client)
      }
      isLocked = true
    }
    if (!(await isMigrationTableCurrent(client))) {
      await awaitBackup()
      await locks.run('The table of migrations', () => createMigrationTable(client))
    }
    const { rows: applied } = await client.query<Applied>(
      'select name, checksum, oldest_release from migration order by name',
    )
    for (const { name, sql, checksum, isContract, index } of pendingMigrations(migrations, applied, log)) {
      const older = isContract ? await nodesWithout(client, name) : []
      if (older.length > 0) {
        log.info({ migration: name, nodes: older }, 'a migration waits until older nodes have stopped')
        continue
      }
      await awaitBackup()
      try {
        if (index !== undefined) {
          log.info({ migration: name, index }, 'an index is built; other nodes go on meanwhile')
          await locks.run(`Migration ${name}`, () => buildIndex(client, index, sql), { isIndex: true })
        }
        await locks.run(`Migration ${name}`, async () => {
          await client.query('begin')
          if (index === undefined) await client.query(sql)
          await client.query('insert into migration (name, checksum, oldest_release) values ($1, $2, $3)', [
            name,
            checksum,
            isContract ? null : OLDEST_RELEASE,
          ])
          await client.query('commit')
        })
      } catch (error) {
        // `rollback` fails when the connection is broken, but then the server has rolled back already.
        await client.query('rollback').catch(() => {})
        if (error instanceof MigrationError) throw error
        throw new MigrationError(`Migration ${name} failed: ${(error as Error).message}`, { cause: error })
      }
      log.info({ migration: name }, 'migrated')
    }
    if (!(await isQueueCurrent(client))) await awaitBackup()
    await locks.run('The schema of the job queue', () => installQueue(client, log))
    return migrations.at(-1)?.name ?? ''
  } catch (error) {
    // An error with a SQLSTATE comes from the server itself, for example for a write to a read-only database.
    if (sqlState(error) === undefined) throw error
    throw new MigrationError(`The database cannot be migrated: ${(error as Error).message}.`, {
      cause: error,
    })
  } finally {
    await client.end()
  }
}

/**
 * Throws `MigrationError` if this release cannot run on the schema. Called by a node after other nodes can see it: a contract migration that
 * began before did not wait for this node, and this waits until it has ended. A later one finds this node. With `mayWait: false` it does not
 * wait, and resolves to false while another session migrates: it must be called again then. A database that does not
 * answer makes it throw after 10 s.
 */
export async function requireUsableSchema(
  owner: pg.PoolConfig,
  { mayWait = true }: { mayWait?: boolean } = {},
): Promise<boolean> {
  const client = new pg.Client({
    ...owner,
    keepAlive: true,
    connectionTimeoutMillis: DEADLINE_MS,
    query_timeout: DEADLINE_MS,
  })
  client.on('error', () => {})
  await client.connect()
  try {
    const isLocked = await takeLock(client, 'pg_try_advisory_lock_shared', mayWait)
    const { rows: applied } = await client.query<Applied>(
      'select name, checksum, oldest_release from migration order by name',
    )
    pendingMigrations(await readMigrations(FOLDER), applied)
    return isLocked
  } finally {
    await waitUpTo(CLOSE_MS, client.end())
    client.connection.stream.destroy()
  }
}

/**
 * Takes the lock of migrations until the session ends. A statement that waits for the lock in the database would hold a snapshot, for which
 * `create index concurrently` of the other session waits. With `mayWait: false`, resolves to false if another session has the lock.
 */
async function takeLock(
  client: pg.Client,
  lock: 'pg_try_advisory_lock' | 'pg_try_advisory_lock_shared',
  mayWait: boolean,
): Promise<boolean> {
  for (;;) {
    const { rows } = await client.query<{ isTaken: boolean }>(
      `select ${lock}(hashtext('muster.migrations')) as "isTaken"`,
    )
    if (rows[0]!.isTaken || !mayWait) return rows[0]!.isTaken
    await sleep(LOCK_POLL_MS)
  }
}

async function buildIndex(client: pg.Client, index: string, sql: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    // A killed attempt leaves an invalid index, which `if not exists` would take for a complete one.
    const { rows } = await client.query(
      'select from pg_index where indexrelid = to_regclass($1) and not indisvalid',
      [index],
    )
    if (rows.length > 0) await client.query(`drop index concurrently ${index}`)
    try {
      await client.query(sql)
      return
    } catch (error) {
      if (!isDeadlock(error) || attempt === INDEX_ATTEMPTS) throw error
    }
  }
}

/** Migration that `migrate` would apply now, or once the nodes in `waitsFor` have stopped. */
export type PlannedMigration = { name: string; waitsFor: string[] }

/**
 * Lists what `migrate` would do, and changes nothing. `isQueueCurrent` is true if the schema of the job queue has the version that this
 * release needs. Throws `MigrationError` as `migrate` does if this release cannot run on the database.
 */
export async function plannedMigrations(
  client: pg.ClientBase,
  log: Logger,
): Promise<{ migrations: PlannedMigration[]; isQueueCurrent: boolean }> {
  await refuseMarked(client)
  const applied = await readApplied(client)
  const migrations: PlannedMigration[] = []
  for (const { name, isContract } of pendingMigrations(await readMigrations(FOLDER), applied, log))
    migrations.push({ name, waitsFor: isContract ? await nodesWithout(client, name) : [] })
  return { migrations, isQueueCurrent: await isQueueCurrent(client) }
}

/**
 * Throws `MigrationError` as `migrate` of an older release does if that release cannot run on the database. `newestMigration` is the newest
 * migration that the release knows.
 */
export async function requireSuitableFor(
  client: pg.ClientBase,
  release: string,
  newestMigration: string,
): Promise<void> {
  for (const applied of await readApplied(client))
    if (applied.name > newestMigration) requireSuitable(applied, release, `in release ${release}`)
}

async function readApplied(client: pg.ClientBase): Promise<Applied[]> {
  const { rows: tables } = await client.query("select from pg_class where oid = to_regclass('migration')")
  if (tables.length === 0) return []
  const { rows } = await client.query<Applied>(
    // `to_jsonb`, because a table of an older release has no column `oldest_release`.
    "select name, checksum, to_jsonb(m) ->> 'oldest_release' as oldest_release from migration m order by name",
  )
  return rows
}

async function isMigrationTableCurrent(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    "select from pg_attribute where attrelid = to_regclass('migration') and attname = 'oldest_release'",
  )
  return rows.length > 0
}

async function createMigrationTable(client: pg.Client): Promise<void> {
  await client.query(
    'create table if not exists migration (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
  )
  await client.query('alter table migration add column if not exists oldest_release text')
}

/**
 * Creates the tables as they are after the named migrations, for a restore that then copies the rows into them, those of `migration`
 * included. Runs in a transaction of the caller. Throws `MigrationError` if this release does not know a migration.
 */
export async function createTables(client: pg.Client, names: string[]): Promise<void> {
  const migrations = await readMigrations(FOLDER)
  const unknown = names.find(name => migrations.every(migration => migration.name !== name))
  if (unknown !== undefined)
    throw new MigrationError(
      `The database comes from a newer hub: its migration ${unknown} is not known here. Use that release or a newer one.`,
    )
  await createMigrationTable(client)
  for (const { name, sql, index } of migrations)
    if (names.includes(name)) await client.query(index === undefined ? sql : sql.replace(INDEX, '$1$2'))
}

/** Migrations that are not applied yet, in order. Throws `MigrationError` if this release cannot run on the applied migrations. */
function pendingMigrations(migrations: Migration[], applied: Applied[], log?: Logger): Migration[] {
  const newer: string[] = []
  for (const { name, checksum, oldest_release: oldest } of applied) {
    const known = migrations.find(migration => migration.name === name)
    if (known) {
      if (known.checksum !== checksum && FORMER_CHECKSUMS[name] !== checksum)
        throw new MigrationError(`Migration ${name} was changed after it was applied.`)
    } else {
      requireSuitable({ name, oldest_release: oldest }, VERSION, 'here')
      newer.push(name)
    }
  }
  if (newer.length > 0) log?.warn({ migrations: newer }, 'the database was migrated by a newer release')
  const names = new Set(applied.map(({ name }) => name))
  const pending = migrations.filter(({ name }) => !names.has(name))
  for (const { name, isContract } of pending) {
    const later = applied.find(other => other.name > name)
    if (later && !isContract)
      throw new MigrationError(`Migration ${name} comes before ${later.name}, which was applied without it.`)
  }
  return pending
}

/** Throws `MigrationError` if a release that does not know an applied migration cannot run after it. */
function requireSuitable(
  { name, oldest_release: oldest }: Omit<Applied, 'checksum'>,
  release: string,
  unknown: string,
): void {
  if (oldest !== null && !isOlder(release, oldest)) return
  const needed = oldest === null ? 'it suits newer releases only' : `it needs release ${oldest}`
  throw new MigrationError(
    `The database was migrated by a newer hub: ${name} is not known ${unknown}, and ${needed}.`,
  )
}

/**
 * Names of the live nodes, at most 20, whose release does not know a migration. A node whose release does not report its newest
 * migration is included. Before the migration that adds the column `newest_migration`, the result is empty.
 */
async function nodesWithout(client: pg.ClientBase, migration: string): Promise<string[]> {
  const { rows: columns } = await client.query(
    "select from pg_attribute where attrelid = to_regclass('cluster_node') and attname = 'newest_migration'",
  )
  if (columns.length === 0) return []
  const { rows } = await client.query<{ name: string }>(
    `select name from cluster_node
      where left_at is null and last_heartbeat > now() - interval '20 seconds' and coalesce(newest_migration, '') < $1
      order by name limit 20`,
    [migration],
  )
  return rows.map(({ name }) => name)
}

/** Whether the first version, such as `0.1.0`, is older than the second. */
function isOlder(version: string, other: string): boolean {
  return version.localeCompare(other, 'en', { numeric: true }) < 0
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).sort()
  for (const [index, name] of names.entries()) {
    if (!/^\d{4}_\w+\.sql$/.test(name))
      throw new MigrationError(`Migration ${name} has no name of the form 0001_what_changes.sql.`)
    if (name.slice(0, 4) === names[index - 1]?.slice(0, 4))
      throw new MigrationError(`Migrations ${names[index - 1]} and ${name} have the same number.`)
  }
  return Promise.all(
    names.map(async name => {
      const sql = await readFile(join(folder, name), 'utf8')
      const checksum = createHash('sha256').update(sql).digest('hex')
      const index = CONCURRENT.test(sql) ? INDEX.exec(sql)?.[3] : undefined
      if (CONCURRENT.test(sql) && index === undefined)
        throw new MigrationError(
          `Migration ${name} begins with "-- concurrent", expected one statement "create index concurrently if not exists …" in it.`,
        )
      return { name, sql, checksum, isContract: CONTRACT.test(sql), index }
    }),
  )
}
