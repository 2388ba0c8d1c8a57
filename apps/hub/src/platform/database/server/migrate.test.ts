import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  capturedLog,
  connectDevice,
  databaseSession,
  type ScratchDatabase,
  scratchDatabase,
  testHub,
  until,
} from '@muster/testkit'
import pg from 'pg'
import { describe, expect, inject, it } from 'vitest'
import { databaseTypes } from '../../../../../../tools/database-types.ts'
import type { Hub } from '../../../hub.ts'
import { MigrationError, migrate } from './migrate.ts'

const SHIPPED = join(import.meta.dirname, '../migrations')
const { log } = capturedLog()

/** Makes a folder with the migrations in `files` and, if `base` is given, a copy of all migrations in the folder `base`. */
async function folderOf(
  files: Record<string, string>,
  base?: string,
): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'muster-migrations-'))
  if (base) await cp(base, path, { recursive: true })
  for (const [name, sql] of Object.entries(files)) await writeFile(join(path, name), sql)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

describe('migrations', () => {
  it('are applied in order and only once', async () => {
    await using database = await scratchDatabase()
    await migrate(database.connection, log)
    const applied = await database.query('select name from migration order by name')
    expect(applied).toEqual((await readdir(SHIPPED)).toSorted().map(name => ({ name })))
    const before = await database.query('select * from migration')
    await migrate(database.connection, log)
    expect(await database.query('select * from migration')).toEqual(before)
  })

  it('are applied once when many nodes start at the same moment', async () => {
    await using database = await scratchDatabase()
    const captured = capturedLog()
    await using folder = await folderOf(
      { '9999_last.sql': 'create table last (); select pg_sleep(0.2)' },
      SHIPPED,
    )
    await Promise.all(
      Array.from({ length: 5 }, () => migrate(database.connection, captured.log, folder.path)),
    )
    const names = (await readdir(folder.path)).toSorted()
    expect(captured.named('migrated').map(({ migration }) => migration)).toEqual(names)
  })

  it('report a read-only database in one line', async () => {
    await using database = await scratchDatabase()
    const options = '-c default_transaction_read_only=on'
    await expect(migrate({ ...database.connection, options }, log)).rejects.toEqual(
      new MigrationError(
        'The database cannot be migrated: cannot execute CREATE TABLE in a read-only transaction.',
      ),
    )
  })

  it('roll back a migration that fails, and continue once it is fixed', async () => {
    await using database = await scratchDatabase()
    const first = { '0001_first.sql': 'create table first ()' }
    await using broken = await folderOf({ ...first, '0002_second.sql': 'create table second (); select 1/0' })
    await expect(migrate(database.connection, log, broken.path)).rejects.toEqual(
      new MigrationError('Migration 0002_second.sql failed: division by zero'),
    )
    expect(
      await database.query(`select to_regclass('first')::text as a, to_regclass('second')::text as b`),
    ).toEqual([{ a: 'first', b: null }])
    await using mended = await folderOf({ ...first, '0002_second.sql': 'create table second ()' })
    await migrate(database.connection, log, mended.path)
    expect(await database.query('select name from migration')).toHaveLength(2)
  })

  const first = { '0001_first.sql': 'create table first ()' }
  const second = { '0002_second.sql': 'create table second ()' }
  it.each<[string, Record<string, string>, Record<string, string>, string]>([
    [
      'an applied file was edited',
      first,
      { '0001_first.sql': 'create table first (id int)' },
      'Migration 0001_first.sql was changed after it was applied.',
    ],
    [
      'a newer hub has taken away what this one needs',
      { ...first, '0002_second.sql': '-- contract\ncreate table second ()' },
      first,
      'The database was migrated by a newer hub: 0002_second.sql is not known here, and it suits newer releases only.',
    ],
    [
      'a file was added before an applied one',
      { ...first, '0003_third.sql': '' },
      { ...first, ...second, '0003_third.sql': '' },
      'Migration 0002_second.sql comes before 0003_third.sql, which was applied without it.',
    ],
    [
      'one that builds an index has another statement',
      {},
      { '0001_first.sql': '-- concurrent\ncreate index concurrently first on migration (name)' },
      'Migration 0001_first.sql begins with "-- concurrent", expected one statement "create index concurrently if not exists …" in it.',
    ],
    [
      'one that builds an index has a further statement',
      {},
      {
        '0001_first.sql':
          '-- concurrent\ncreate index concurrently if not exists first on migration (name);\nselect 1;\n',
      },
      'Migration 0001_first.sql begins with "-- concurrent", expected one statement "create index concurrently if not exists …" in it.',
    ],
    [
      'two files have the same number',
      {},
      { ...first, '0001_other.sql': '' },
      'Migrations 0001_first.sql and 0001_other.sql have the same number.',
    ],
    [
      'a file name has another form',
      {},
      { '1_first.sql': '' },
      'Migration 1_first.sql has no name of the form 0001_what_changes.sql.',
    ],
  ])('are refused when %s', async (_what, before, after, message) => {
    await using database = await scratchDatabase()
    await using applied = await folderOf(before)
    await migrate(database.connection, log, applied.path)
    const tables = `select relname from pg_class where relnamespace = 'public'::regnamespace order by 1`
    const untouched = await database.query(tables)
    await using folder = await folderOf(after)
    await expect(migrate(database.connection, log, folder.path)).rejects.toEqual(new MigrationError(message))
    expect(await database.query(tables)).toEqual(untouched)
  })

  it('of the next release are no obstacle, those of a later one are', async () => {
    await using database = await scratchDatabase()
    await using newer = await folderOf({ ...first, ...second })
    await using older = await folderOf(first)
    await migrate(database.connection, log, newer.path)
    const captured = capturedLog()
    expect(await migrate(database.connection, captured.log, older.path)).toBe('0001_first.sql')
    expect(captured.named('the database was migrated by a newer release')).toMatchObject([
      { migrations: ['0002_second.sql'] },
    ])
    await database.query(`update migration set oldest_release = '99.10.0' where name = '0002_second.sql'`)
    await expect(migrate(database.connection, log, older.path)).rejects.toEqual(
      new MigrationError(
        'The database was migrated by a newer hub: 0002_second.sql is not known here, and it needs release 99.10.0.',
      ),
    )
  })

  it('that older nodes cannot live with wait until no such node is alive', async () => {
    await using database = await scratchDatabase('muster')
    const contract = { '9998_contract.sql': '-- contract\ncreate table contracted ()' }
    await using folder = await folderOf({ ...contract, '9999_last.sql': 'create table last ()' }, SHIPPED)
    await database.query(
      `insert into cluster_node (node_id, name, newest_migration) values ('cluster_node_1', 'old', '0030_cluster.sql')`,
    )
    const applied = async () =>
      (await database.query(`select name from migration where name > '9'`)).map(
        row => (row as { name: string }).name,
      )
    const captured = capturedLog()
    expect(await migrate(database.connection, captured.log, folder.path)).toBe('9999_last.sql')
    expect(await applied()).toEqual(['9999_last.sql'])
    expect(captured.named('a migration waits until older nodes have stopped')).toMatchObject([
      { migration: '9998_contract.sql', nodes: ['old'] },
    ])
    await database.query('update cluster_node set left_at = now()')
    await migrate(database.connection, log, folder.path)
    expect(await applied()).toEqual(['9999_last.sql', '9998_contract.sql'])
  })

  it('build an index while devices send, and build it anew after they were killed', async () => {
    await using hub = await testHub()
    await using folder = await folderOf(
      {
        '9999_index.sql':
          '-- concurrent\n-- For a test.\ncreate index concurrently if not exists device_property_by_version on device_property (version);\n',
      },
      SHIPPED,
    )
    const { connectionString } = hub.pool.options
    const run = () => migrate({ connectionString }, log, folder.path)
    const isValid = async () => {
      const { rows } = await hub.pool.query<{ isValid: boolean }>(
        `select indisvalid as "isValid" from pg_index where indexrelid = to_regclass('device_property_by_version')`,
      )
      return rows[0]?.isValid
    }
    const { token, owner: person } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    const send = (name: string) => device.invoke('devices_SetProperty', { deviceId, name, value: 1 })
    await send('before')
    // A transaction with the lock of a writer holds the build up.
    await using session = await databaseSession(hub)
    const hold = () => session.query('begin; lock table device_property in row exclusive mode')

    await hold()
    const killed = expect(run()).rejects.toThrow('Migration 9999_index.sql failed: ')
    await session.waitingStatements(1)
    await hub.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like '-- concurrent%'",
    )
    await killed
    await session.release()
    expect(await isValid()).toBe(false)

    await hold()
    const runs = [run(), run()]
    await session.waitingStatements(1)
    for (let n = 0; n < 20; n++) await send(`during-${n}`)
    expect(await isValid()).toBe(false)
    await session.release()
    expect(await Promise.all(runs)).toEqual(['9999_index.sql', '9999_index.sql'])
    expect(await isValid()).toBe(true)
    const { properties } = await person.invoke('devices_QueryProperties', { deviceId })
    expect(Object.keys(properties)).toHaveLength(21)
  })

  /** Like the times of a real migration, in tens of milliseconds. */
  const LOCK_TIMES = { waitMs: 50, maxWaitMs: 200, deadlineMs: 60_000 }
  /** Runs migrations on the database of a hub until the test ends, with the log lines of attempts that got no lock. */
  async function migrating(hub: Pick<Hub, 'pool'>, sql: string, lockTimes = LOCK_TIMES) {
    const folder = await folderOf({ '9999_new.sql': sql }, SHIPPED)
    const captured = capturedLog()
    const { connectionString } = hub.pool.options
    let isDone = false
    const done = migrate({ connectionString }, captured.log, folder.path, { lockTimes }).finally(() => {
      isDone = true
    })
    done.catch(() => {})
    return {
      done,
      isDone: () => isDone,
      attempts: () => captured.named('a migration got no lock and is tried again'),
      [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
    }
  }
  /** Statement that reads a table and keeps its lock until the end of the transaction, as an export does. */
  const EXPORT = 'select count(*) as exported from device'

  it('S26: let other statements on a table run while an export blocks it, and name the statement of the export', async () => {
    await using hub = await testHub()
    const { owner: person, projectId, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query(EXPORT)

    await using migration = await migrating(hub, 'alter table device add column note_of_test text')
    // On a busy machine, the first attempts may end before the blocking sessions are read.
    const named = () => migration.attempts().find(({ blockedBy }) => (blockedBy as unknown[]).length > 0)
    await until('an attempt names the statement', async () => named())
    expect(named()).toMatchObject({
      migration: 'Migration 9999_new.sql',
      blockedBy: [{ statement: EXPORT }],
    })
    // Each of these statements reads or writes `device`, so it would wait behind the migration until the export ends.
    const { devices } = await person.invoke('projects_QueryDevices', { projectId, filter: { text: 'd' } })
    expect(devices).toMatchObject([{ deviceId: device.deviceId }])
    await person.invoke('devices_SetName', { deviceId: device.deviceId, name: 'crane' })
    await using _other = await connectDevice({ url: hub.url, token })
    expect(migration.isDone()).toBe(false)

    await session.release()
    expect(await migration.done).toBe('9999_new.sql')
  })

  it('S26: that build an index wait for the lock with a timeout, and build it anew', async () => {
    await using hub = await testHub()
    await using session = await databaseSession(hub)
    const LOCK = 'lock table device_property in row exclusive mode'
    await session.query('begin')
    await session.query(LOCK)
    await using migration = await migrating(
      hub,
      '-- concurrent\ncreate index concurrently if not exists of_test on device_property (version);\n',
      { ...LOCK_TIMES, waitMs: 10 },
    )
    const named = () => migration.attempts().find(({ blockedBy }) => (blockedBy as unknown[]).length > 0)
    await until('two attempts failed', async () => migration.attempts().length > 1 && named())
    expect(named()).toMatchObject({ blockedBy: [{ statement: LOCK }] })
    await session.release()
    expect(await migration.done).toBe('9999_new.sql')
    const { rows } = await hub.pool.query(
      "select indisvalid from pg_index where indexrelid = 'of_test'::regclass",
    )
    expect(rows).toEqual([{ indisvalid: true }])
  })

  it('S26: fail at a deadline with the statement that blocks them, and change nothing', async () => {
    await using hub = await testHub()
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query(EXPORT)
    const [row] = await session.query<{ pid: number }>('select pg_backend_pid() as pid')
    const sql = 'create table of_test (); alter table device add column note_of_test text'
    await using migration = await migrating(hub, sql, { waitMs: 4_000, maxWaitMs: 4_000, deadlineMs: 0 })
    const { message } = (await migration.done.then(
      () => undefined,
      error => error,
    )) as Error
    expect(message).toMatch(
      /^Migration 9999_new.sql got no lock within \d+ s, which is held by process \d+ \(.*\) for \d+ s with: /,
    )
    expect(message).toContain(`process ${row!.pid} (`)
    expect(message).toContain('Wait until that has ended, or end it, and start again.')
    await session.release()
    expect(await session.query("select to_regclass('of_test') as made")).toEqual([{ made: null }])
  })

  it('count existing devices, and later those that are added or deleted', async () => {
    await using database = await scratchDatabase()
    await using before = await folderOf({}, SHIPPED)
    for (const name of await readdir(before.path)) if (name >= '0006') await rm(join(before.path, name))
    await migrate(database.connection, log, before.path)
    const add = (...devices: string[]): Promise<unknown> =>
      database.query(
        `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
         values ${devices.map(id => `('${id}', '${id[0]}', '${id}', '${id}')`).join()}`,
      )
    const counts = (): Promise<unknown> =>
      database.query(
        'select project_id, sum(devices)::integer as devices from project_device_count group by 1 order by 1',
      )
    await database.query(`insert into organization (organization_id, name) values ('o', 'Works')`)
    await database.query(
      `insert into project (project_id, organization_id, name) values ('p', 'o', 'Quay'), ('q', 'o', 'Shed')`,
    )
    await add('p1', 'p2', 'q1')
    await migrate(database.connection, log)
    expect(await counts()).toEqual([
      { project_id: 'p', devices: 2 },
      { project_id: 'q', devices: 1 },
    ])
    await add('p3', 'q2', 'p4')
    await database.query(`delete from device where device_id in ('p1', 'q1', 'q2')`)
    expect(await counts()).toEqual([
      { project_id: 'p', devices: 3 },
      { project_id: 'q', devices: 0 },
    ])
    await database.query(`delete from project where project_id = 'p'`)
    expect(await counts()).toEqual([{ project_id: 'q', devices: 0 }])
  })

  it('accept a file that was applied with its former comment', async () => {
    await using database = await scratchDatabase()
    await using before = await folderOf({}, SHIPPED)
    const file = join(before.path, '0006_device_counts.sql')
    const text = await readFile(file, 'utf8')
    const former = text.replace(
      /^-- How many[\s\S]*?sum of them\.\n/,
      `-- How many devices a project has, without counting them: at 100,000 devices that takes 20 ms, and many times that while they all come
-- back. Kept in parts, so that devices which enrol at the same time seldom wait for each other; the number is the sum of them.
`,
    )
    expect(former).not.toBe(text)
    await writeFile(file, former)
    await migrate(database.connection, log, before.path)
    await migrate(database.connection, log)
  })

  it('create the tables of schema.ts', async () => {
    const { host, user, password } = inject('database')
    const types = await databaseTypes({ host, user, password, database: 'muster' })
    expect(await readFile(join(import.meta.dirname, '../schema.ts'), 'utf8')).toBe(types)
  })
})

describe('partitions', () => {
  const DAY_MS = 24 * 60 * 60 * 1000
  const dayOf = (offset: number): string => new Date(Date.now() + offset * DAY_MS).toISOString().slice(0, 10)
  const nameOf = (parent: string, offset: number): string => `${parent}_${dayOf(offset).replaceAll('-', '')}`

  async function migrated(): Promise<ScratchDatabase> {
    const database = await scratchDatabase()
    await migrate(database.connection, log)
    return database
  }

  function partitionsOf(database: ScratchDatabase, parent: string): Promise<string[]> {
    return database
      .query(
        `select inhrelid::regclass::text as name from pg_inherits where inhparent = '${parent}'::regclass order by 1`,
      )
      .then(rows => (rows as { name: string }[]).map(({ name }) => name))
  }

  function insertEvent(day: string, id = 'e'): string {
    return `insert into device_event (device_id, event_id, event_day, severity, body, attributes, emitted_at)
      values ('d', '${id}', '${day}', 'Info', '1', '{}', '${day}')`
  }

  it('cover a week back to three days ahead, and are made once', async () => {
    await using database = await migrated()
    for (let round = 0; round < 2; round++) {
      await database.query('select maintain_partitions(90)')
      for (const parent of ['device_event', 'device_property_change']) {
        const days = Array.from({ length: 11 }, (_, index) => nameOf(parent, index - 7))
        const others = parent === 'device_event' ? ['default', 'wrong_clock'] : ['default']
        expect(await partitionsOf(database, parent)).toEqual([
          ...days,
          ...others.map(name => `${parent}_${name}`),
        ])
      }
    }
    await database.query(insertEvent(dayOf(0)))
    expect(await database.query(`select tableoid::regclass::text as name from device_event`)).toEqual([
      { name: nameOf('device_event', 0) },
    ])
  })

  it('take the rows of their day from the default partition, and ids stay unique', async () => {
    await using database = await migrated()
    await database.query(insertEvent(dayOf(0)))
    await database.query(insertEvent(dayOf(-30), 'old'))
    await database.query(
      `insert into device_property_change (device_id, name, version, value, actor, changed_at)
        values ('d', 'a', 1, '1', '{}', now()), ('d', 'a', 2, '2', '{}', now() - interval '30 days')`,
    )
    await database.query('select maintain_partitions(90)')
    const where = (table: string) =>
      database.query(
        `select tableoid::regclass::text as name, count(*)::int from ${table} group by 1 order by 1`,
      )
    for (const table of ['device_event', 'device_property_change']) {
      expect(await where(table)).toEqual([
        { name: nameOf(table, 0), count: 1 },
        { name: `${table}_default`, count: 1 },
      ])
    }
    await expect(database.query(insertEvent(dayOf(0)))).rejects.toThrow('duplicate key')
    await expect(database.query(insertEvent(dayOf(-30), 'old'))).rejects.toThrow('duplicate key')
  })

  it('have the indexes and keys of their parent', async () => {
    await using database = await migrated()
    await database.query('select maintain_partitions(90)')
    const attached = await database.query(
      `select count(*)::int as indexes from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where c.relkind = 'i' and i.inhparent in ('device_event_pkey'::regclass, 'device_event_latest'::regclass)`,
    )
    expect(attached).toEqual([{ indexes: 26 }])
  })

  it('H3: of property changes have a replica identity, because they have no unique key', async () => {
    await using database = await migrated()
    await database.query('select maintain_partitions(90)')
    const identities = await database.query(
      `select c.relreplident as identity, count(*)::int from pg_inherits join pg_class c on c.oid = inhrelid
        where inhparent = 'device_property_change'::regclass and c.relname ~ '\\d{8}$' group by 1`,
    )
    expect(identities).toEqual([{ identity: 'f', count: 11 }])
  })

  it('are dropped after the retention, with rows of the same age in the default partition', async () => {
    await using database = await migrated()
    await database.query('select maintain_partitions(90)')
    await database.query(insertEvent(dayOf(-5), 'five'))
    await database.query(insertEvent(dayOf(-2), 'two'))
    await database.query(insertEvent(dayOf(0), 'zero'))
    await database.query(insertEvent('0001-01-01', 'implausible'))
    await database.query(insertEvent('10000-01-01', 'wrong clock'))
    await database.query(
      `update device_event set received_at = now() - interval '4 days' where event_id in ('implausible', 'wrong clock')`,
    )
    await database.query(insertEvent('9999-01-01', 'kept'))
    await database.query('select maintain_partitions(3)')
    expect(await partitionsOf(database, 'device_event')).toEqual([
      ...Array.from({ length: 7 }, (_, index) => nameOf('device_event', index - 3)),
      'device_event_default',
      'device_event_wrong_clock',
    ])
    expect(await database.query('select event_id from device_event order by 1')).toEqual([
      { event_id: 'kept' },
      { event_id: 'two' },
      { event_id: 'zero' },
    ])
  })

  it('point 5: stay when the clock jumps ahead, and are dropped once newer days are stored', async () => {
    await using database = await migrated()
    const insertChange = (version: number, offset: number) => `
      insert into device_property_change (device_id, name, version, value, actor, changed_at)
        values ('d', 'a', ${version}, '1', '{}', now() + interval '${offset} days')`
    const kept = async () => ({
      events: (await database.query('select event_id from device_event order by event_day')).map(
        row => (row as { event_id: string }).event_id,
      ),
      changes: (await database.query('select version from device_property_change order by 1')).map(row =>
        Number((row as { version: string }).version),
      ),
    })
    // Stores rows for two days about 100 days ago. To `maintain_partitions`, this looks as if the clock had jumped 100 days
    // ahead after the rows were stored.
    for (const offset of [-101, -100]) {
      const day = `date '${dayOf(offset)}'`
      for (const [parent, from, to] of [
        ['device_event', `(${day})`, `(${day} + 1)`],
        [
          'device_property_change',
          `(${day}::timestamp at time zone 'UTC')`,
          `((${day} + 1)::timestamp at time zone 'UTC')`,
        ],
      ])
        await database.query(
          `create table ${nameOf(parent!, offset)} partition of ${parent} for values from ${from} to ${to}`,
        )
      await database.query(insertEvent(dayOf(offset), `e${offset}`))
      await database.query(insertChange(-offset, offset))
    }
    const before = await kept()
    expect(before).toEqual({ events: ['e-101', 'e-100'], changes: [100, 101] })
    await database.query('select maintain_partitions(90)')
    expect(await kept()).toEqual(before)
    // Rows of a single later day do not delete the old partitions yet, because the clock that dated these rows may be wrong.
    await database.query(insertEvent(dayOf(-1), 'later'))
    await database.query(insertChange(1, -1))
    await database.query('select maintain_partitions(90)')
    expect(await kept()).toEqual({ events: ['e-101', 'e-100', 'later'], changes: [1, 100, 101] })
    await database.query(insertEvent(dayOf(0), 'now'))
    await database.query(insertChange(2, 0))
    await database.query('select maintain_partitions(90)')
    expect(await kept()).toEqual({ events: ['later', 'now'], changes: [1, 2] })
  })

  it('are maintained by several nodes at once while devices send', async () => {
    await using database = await migrated()
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      const client = new pg.Client(database.connection)
      await client.connect()
      for (let n = 0; n < 60; n++) {
        // Retries the errors that the hub retries: a deadlock (40P01), and a check violation (23514). PostgreSQL reports 23514
        // for a row that it routed to the default partition just before the partition of the row's day was attached.
        for (let attempt = 0; ; attempt++) {
          const done = await client
            .query(insertEvent(dayOf((n % 14) - 9), `${writer}-${n}`))
            .catch((error: unknown) => {
              if (attempt > 20 || !['40P01', '23514'].includes(String((error as { code?: unknown }).code)))
                throw error
            })
          if (done) break
        }
      }
      await client.end()
    })
    const keepers = Array.from({ length: 3 }, async () => {
      const client = new pg.Client(database.connection)
      await client.connect()
      for (let n = 0; n < 5; n++) await client.query('select maintain_partitions(90)')
      await client.end()
    })
    const results = await Promise.allSettled([...writers, ...keepers])
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
    expect(
      await database.query(
        'select count(*)::int as n, count(distinct event_id)::int as ids from device_event',
      ),
    ).toEqual([{ n: 240, ids: 240 }])
  })
})
