import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { scratchDatabase, until } from '@muster/testkit'
import pg from 'pg'
import { expect, it } from 'vitest'
import { runHere } from './testing/run-here.ts'
import { startProcess } from './testing/start-process.ts'

const NAMES = (await readdir(join(import.meta.dirname, '../platform/database/migrations'))).toSorted()

it('lists migrations without applying them, applies them after a killed run, and then finds nothing to do', async () => {
  await using database = await scratchDatabase()
  const settings = { MUSTER_DATABASE_URL: database.url }
  const tables = () =>
    database.query("select relname from pg_class where relnamespace = 'public'::regnamespace")
  const dryRun = await runHere(['migrate', '--dry-run'], settings)
  expect(dryRun).toEqual({
    code: 0,
    out: `${NAMES.map(name => `Would apply ${name}.\n`).join('')}Would migrate the job queue.\n`,
    err: '',
  })
  expect(await tables()).toEqual([])
  expect(await runHere(['audit', 'verify'], { ...settings, MUSTER_INSTANCE_KEY: 'ab'.repeat(32) })).toEqual({
    code: 2,
    out: '',
    err: 'The database is one of an older hub: start this one once, or run muster-hub migrate.\n',
  })

  // Holds the lock of the migrations, so that the process waits in its first migration.
  const blocker = new pg.Client(database.connection)
  await blocker.connect()
  await blocker.query('begin; create table migration (name text)')
  const killed = startProcess(['migrate'], settings)
  const locks =
    "select from pg_locks where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())"
  await until('it holds the lock', async () => (await database.query(locks)).length > 0)
  expect(await runHere(['migrate'], settings)).toEqual({
    code: 1,
    out: '',
    err: 'Another process is migrating this database: wait until it has ended, and look again.\n',
  })
  killed.child.kill('SIGKILL')
  await once(killed.child, 'close')
  await blocker.end()
  await until('its session has ended', async () => (await database.query(locks)).length === 0)

  expect(await runHere(['migrate'], settings)).toEqual({
    code: 0,
    out: NAMES.map(name => `Applied ${name}.\n`).join(''),
    err: '',
  })
  expect(JSON.parse((await runHere(['migrate', '--dry-run', '--json'], settings)).out)).toEqual({
    applied: [],
    pending: [],
    isQueueCurrent: true,
  })
  expect((await runHere(['migrate'], settings)).out).toBe('The database is up to date.\n')
})

it('refuses a downgrade to a release that cannot run on the database, in one line', async () => {
  await using database = await scratchDatabase('muster')
  const settings = { MUSTER_DATABASE_URL: database.url }
  const check = () => runHere(['check-downgrade', '0.0.9', NAMES.at(-1)!], settings)
  const canRun = { code: 0, out: 'Release 0.0.9 can run on this database.\n', err: '' }
  expect(await check()).toEqual(canRun)
  const retired = { ...settings, MUSTER_MAX_DESCRIPTORS: '4096' }
  expect((await runHere(['check-downgrade', '0.0.9', NAMES.at(-1)!], retired)).out).toBe(
    `${canRun.out}Warning: MUSTER_MAX_DESCRIPTORS is set: release 0.0.9 applies it, while this release ignores it.\n`,
  )
  await database.query(
    "insert into migration (name, checksum, oldest_release) values ('9999_new.sql', '', '0.0.9')",
  )
  expect(await check()).toEqual(canRun)
  for (const [oldest, reason] of [
    ["'0.1.0'", 'it needs release 0.1.0'],
    ['null', 'it suits newer releases only'],
  ]) {
    await database.query(`update migration set oldest_release = ${oldest} where name = '9999_new.sql'`)
    expect(await check()).toEqual({
      code: 1,
      out: '',
      err: `The database was migrated by a newer hub: 9999_new.sql is not known in release 0.0.9, and ${reason}.\n`,
    })
  }
})
