import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { installQueue } from '../../jobs/install.ts'
import type { Logger } from '../../runtime/log.ts'
import { sqlState } from '../client/errors.ts'

const FOLDER = join(import.meta.dirname, '../migrations')

/**
 * Former checksums of migrations whose comments changed after a release. An instance may have applied the former or the current
 * text of such a migration.
 */
const FORMER_CHECKSUMS: Record<string, string> = {
  '0006_device_counts.sql': '42399c9908e899b311eb11474c0c75cbab79a86617f5a08d6507b3acde21a916',
}

/** Thrown when the database cannot be migrated: applied migrations were changed or are newer than the hub, or a migration fails. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

type Migration = { name: string; sql: string; checksum: string }

/**
 * Migrates the hub's schema and then the schema of the job queue. Migrations are plain SQL files that run in number order, forward
 * only, each in its own transaction. An advisory lock lets only one of several starting nodes run them. Throws `MigrationError`
 * when an applied file was edited or is unknown, or when a migration fails.
 */
export async function migrate(owner: pg.PoolConfig, log: Logger, folder = FOLDER): Promise<void> {
  const migrations = await readMigrations(folder)
  const client = new pg.Client(owner)
  // Without a listener, a connection that breaks between two statements would end the process. With the listener, the next
  // statement fails instead.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query("select pg_advisory_lock(hashtext('muster.migrations'))")
    await client.query(
      'create table if not exists migration (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    )
    const { rows: applied } = await client.query<{ name: string; checksum: string }>(
      'select name, checksum from migration order by name',
    )
    for (const [index, { name, checksum }] of applied.entries()) {
      const known = migrations.find(migration => migration.name === name)
      if (!known)
        throw new MigrationError(`The database was migrated by a newer hub: ${name} is not known here.`)
      if (known.checksum !== checksum && FORMER_CHECKSUMS[name] !== checksum)
        throw new MigrationError(`Migration ${name} was changed after it was applied.`)
      if (known !== migrations[index]) {
        throw new MigrationError(
          `Migration ${migrations[index]!.name} comes before ${name}, which was applied without it.`,
        )
      }
    }
    for (const { name, sql, checksum } of migrations.slice(applied.length)) {
      await client.query('begin')
      try {
        await client.query(sql)
        await client.query('insert into migration (name, checksum) values ($1, $2)', [name, checksum])
        await client.query('commit')
      } catch (error) {
        // `rollback` fails when the connection is broken, but then the server has rolled back already.
        await client.query('rollback').catch(() => {})
        throw new MigrationError(`Migration ${name} failed: ${(error as Error).message}`, { cause: error })
      }
      log.info({ migration: name }, 'migrated')
    }
    await installQueue(client, log)
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
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}
