import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { installQueue } from '../../jobs/install.ts'
import type { Logger } from '../../runtime/log.ts'
import { sqlState } from '../client/errors.ts'

const FOLDER = join(import.meta.dirname, '../migrations')

/** Checksums of files that were on main with another comment for a while: an instance may have been migrated by either text. */
const FORMER_CHECKSUMS: Record<string, string> = {
  '0006_device_counts.sql': '42399c9908e899b311eb11474c0c75cbab79a86617f5a08d6507b3acde21a916',
}

/** The database does not fit this hub: changed or newer migrations, or one that fails on what is there. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

type Migration = { name: string; sql: string; checksum: string }

/**
 * Brings the schema up to date: plain SQL files in number order, forward only, each in a transaction, under an advisory lock so
 * that of many starting nodes one does it; then the job queue's own schema. Throws `MigrationError` when an applied file was edited
 * or is not known here, or one fails.
 */
export async function migrate(owner: pg.PoolConfig, log: Logger, folder = FOLDER): Promise<void> {
  const migrations = await readMigrations(folder)
  const client = new pg.Client(owner)
  // What breaks between two statements is told by the next one.
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
        // A connection that broke has done so already.
        await client.query('rollback').catch(() => {})
        throw new MigrationError(`Migration ${name} failed: ${(error as Error).message}`, { cause: error })
      }
      log.info({ migration: name }, 'migrated')
    }
    await installQueue(client, log)
  } catch (error) {
    // What the server itself refuses, such as to write into a database that may only be read.
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
