import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { Logger } from '../log.ts'

const FOLDER = join(import.meta.dirname, 'migrations')

/** The database does not fit this hub: changed or newer migrations. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

type Migration = { name: string; sql: string; checksum: string }

/**
 * Brings the schema up to date: plain SQL files in number order, forward only, each in a transaction, under an advisory lock so
 * that of many starting nodes one does it. Throws `MigrationError` when an applied file was edited or is not known here.
 */
export async function migrate(owner: pg.PoolConfig, log: Logger): Promise<void> {
  const migrations = await readMigrations()
  const client = new pg.Client(owner)
  await client.connect()
  try {
    await client.query("select pg_advisory_lock(hashtext('muster.migrations'))")
    await client.query(
      'create table if not exists migration (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    )
    const { rows: applied } = await client.query<{ name: string; checksum: string }>(
      'select name, checksum from migration order by name',
    )
    for (const { name, checksum } of applied) {
      const known = migrations.find(migration => migration.name === name)
      if (!known)
        throw new MigrationError(`The database was migrated by a newer hub: ${name} is not known here.`)
      if (known.checksum !== checksum)
        throw new MigrationError(`Migration ${name} was changed after it was applied.`)
    }
    for (const { name, sql, checksum } of migrations.slice(applied.length)) {
      await client.query('begin')
      try {
        await client.query(sql)
        await client.query('insert into migration (name, checksum) values ($1, $2)', [name, checksum])
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      }
      log.info({ migration: name }, 'migrated')
    }
  } finally {
    await client.end()
  }
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter(name => /^\d{4}_\w+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async name => {
      const sql = await readFile(join(FOLDER, name), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}
