import { setTimeout } from 'node:timers/promises'
import { databaseWire, scratchDatabase, until } from '@muster/testkit'
import pg from 'pg'
import { expect, it } from 'vitest'
import { openDatabase, select } from './connection.ts'
import { LookUps } from './look-ups.ts'

const BACKEND = 'select pg_backend_pid() as pid, $1::text as asked'
type Backend = { pid: number; asked: string }

it('answers concurrent look-ups with their own rows over one connection', async () => {
  await using database = await openTestDatabase()
  const asked = Array.from({ length: 200 }, (_, at) => `question ${at}`)
  const rows = (await Promise.all(asked.map(one => database.ask(one)))).flat()
  expect(rows.map(row => row.asked)).toEqual(asked)
  expect(new Set(rows.map(row => row.pid)).size).toBe(1)
})

it('fails one look-up without failing those around it', async () => {
  await using database = await openTestDatabase()
  const number = (value: string) =>
    select<{ number: number }>(database.db, 'select $1::int as number', [value])
  const answers = await Promise.allSettled(['1', 'none', '3', 'none', '5'].map(number))
  expect(answers.map(answer => (answer.status === 'fulfilled' ? answer.value[0] : 'refused'))).toEqual([
    { number: 1 },
    'refused',
    { number: 3 },
    'refused',
    { number: 5 },
  ])
})

it('shows rows of an open transaction only inside it', async () => {
  await using database = await openTestDatabase()
  await database.pool.query('create table note (text text)')
  const count = 'select count(*) from note where text = $1'
  await database.db.transaction().execute(async tx => {
    await select(tx, 'insert into note values ($1)', ['written'])
    expect(await select(tx, count, ['written'])).toEqual([{ count: 1 }])
    expect(await select(database.db, count, ['written'])).toEqual([{ count: 0 }])
  })
})

it('rejects look-ups in flight when the connection breaks, and opens another', async () => {
  await using database = await openTestDatabase()
  const [before] = await database.ask('before')
  const inFlight = select(database.db, 'select pg_sleep($1)', [60])
  const behindIt = database.ask('behind')
  const settled = Promise.allSettled([inFlight, behindIt])
  await until('the statement runs', async () => {
    const { rows } = await database.pool.query<{ query: string }>(
      'select query from pg_stat_activity where pid = $1',
      [before!.pid],
    )
    return rows[0]!.query.includes('pg_sleep')
  })
  await database.pool.query('select pg_terminate_backend($1)', [before!.pid])
  expect((await settled).map(one => one.status)).toEqual(['rejected', 'rejected'])
  const [after] = await database.ask('after')
  expect(after!.asked).toBe('after')
  expect(after!.pid).not.toBe(before!.pid)
  expect(database.errors).not.toEqual([])
})

it('rejects when the database cannot be reached, and connects again for the next look-up', async () => {
  await using scratch = await scratchDatabase()
  const connection = { ...scratch.connection, database: 'not_there' }
  const { db, ...database } = openDatabase(connection, () => {})
  await using _ = database
  for (let time = 0; time < 2; time++)
    await expect(select(db, BACKEND, ['anybody'])).rejects.toMatchObject({ code: '3D000' })
})

it('replans a statement after its table has grown', async () => {
  await using database = await openTestDatabase()
  await database.pool.query(`create table thing (place int, name text, kind int, unique (place, name))`)
  await database.pool.query('create index thing_by_kind on thing (place, kind)')
  await database.pool.query(`insert into thing select 1, 'thing ' || n, 0 from generate_series(1, 5) n`)
  await database.pool.query('analyze thing')
  const ask = () =>
    select(database.db, 'select kind from thing where place = $1 and name = $2', [1, 'thing 3'])
  for (let time = 0; time < 10; time++) await ask()
  const prepared = await select<{ name: string }>(database.db, 'select name from pg_prepared_statements', [])
  const plan = async (): Promise<string> => {
    const text = `explain execute ${prepared[0]!.name} (1, 'thing 3')`
    return (await select<{ 'QUERY PLAN': string }>(database.db, text, []))
      .map(row => row['QUERY PLAN'])
      .join()
  }
  expect(await plan()).toContain('Seq Scan')
  // PostgreSQL itself keeps the old plan until an ANALYZE runs. The hub's client discards its plans after 5 s.
  await database.pool.query(`insert into thing select 1, 'thing ' || n, 0 from generate_series(6, 50000) n`)
  await until('the plan is new', async () => (await plan()).includes('thing_place_name_key'))
  expect(await ask()).toEqual([{ kind: 0 }])
})

it('prepares a repeated statement although thousands of other texts were run once', async () => {
  await using database = await openTestDatabase()
  const others = Array.from({ length: 2_000 }, (_, at) =>
    select(database.db, `select $1::int as n${at}`, [at]),
  )
  await Promise.all(others)
  const names = 'select name from pg_prepared_statements where $1::bool'
  expect(await select(database.db, names, [true])).toEqual([])
  expect(await select(database.db, names, [true])).toHaveLength(1)
})

it('closes an idle connection', async () => {
  await using scratch = await scratchDatabase()
  const lookUps = new LookUps(
    socket => new pg.Client({ ...scratch.connection, pipeline: true, stream: () => socket }),
    // The idle time is longer than an answer takes on a busy machine, so that no connection is closed while a query waits for its
    // answer.
    { idleMs: 1_000, onError: () => {} },
  )
  const [first] = await lookUps.select<Backend>(BACKEND, ['first'])
  await until('the connection is closed', async () => {
    const sessions = await scratch.query(`select from pg_stat_activity where pid = ${first!.pid}`)
    return sessions.length === 0
  })
  expect(await lookUps.select<Backend>(BACKEND, ['second'])).toMatchObject([{ asked: 'second' }])
  await lookUps.end(1_000)
})

it('destroys a connection without answers although queries keep coming', async () => {
  await using scratch = await scratchDatabase()
  await using wire = await databaseWire(scratch)
  const errors: Error[] = []
  const lookUps = new LookUps(
    socket => new pg.Client({ ...wire.connection, pipeline: true, stream: () => socket }),
    { idleMs: 6_000, onError: error => errors.push(error) },
  )
  expect(await lookUps.select<Backend>(BACKEND, ['first'])).toMatchObject([{ asked: 'first' }])
  wire.freeze()
  const answers: Promise<unknown>[] = []
  await until('there are answers again', async () => {
    const answer = lookUps.select<Backend>(BACKEND, [`question ${answers.length}`])
    answers.push(answer.catch(() => {}))
    await Promise.race([answer, setTimeout(100)]).catch(() => {})
    return errors.length > 0
  })
  await expect(lookUps.select<Backend>(BACKEND, ['last'])).resolves.toMatchObject([{ asked: 'last' }])
  await Promise.all(answers)
  expect(errors[0]).toMatchObject({ message: 'The database has not answered for 6 s.', code: 'ETIMEDOUT' })
  await lookUps.end(1_000)
})

it('S26: a look-up that waits for a lock moves to a second connection, and holds up no others', async () => {
  await using database = await openTestDatabase()
  await database.pool.query('create table locked (n int); create table free (n int)')
  await database.pool.query('insert into locked values (1); insert into free values (1)')
  const ask = (table: string) =>
    select<{ pid: number; n: number }>(
      database.db,
      `select pg_backend_pid() as pid, n from ${table} where n = $1`,
      [1],
    )
  const [usual] = await ask('free')
  const blocker = await database.pool.connect()
  // The pool would wait for a connection in use when it is closed.
  using _released = { [Symbol.dispose]: () => blocker.release(true) }
  await blocker.query('begin; lock table locked in access exclusive mode')
  // More than may be in flight at once, the first of which prepares the statement for all others.
  let answered = 0
  const waiting = Array.from({ length: 100 }, () => ask('locked').finally(() => answered++))
  const free = await Promise.all(Array.from({ length: 100 }, () => ask('free')))
  expect(new Set(free.map(([row]) => row!.pid))).toEqual(new Set([usual!.pid]))
  const later = await Promise.all(
    [ask('locked').then(() => 'locked'), ask('free').then(() => 'free')].slice(1),
  )
  expect(later).toEqual(['free'])
  const waitingSessions = async () => {
    const { rows } = await database.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length
  }
  await until('a look-up waits', async () => (await waitingSessions()) > 0)
  expect(await waitingSessions()).toBe(1)
  expect(answered).toBe(0)
  await blocker.query('rollback')
  const rowsOfLocked = (await Promise.all(waiting)).flat()
  expect(rowsOfLocked.map(({ n }) => n)).toEqual(waiting.map(() => 1))
  // One look-up waited on the second connection. The other 99 ran on the usual connection after the lock was released.
  const [repeated, others] = [false, true].map(isUsual =>
    rowsOfLocked.filter(({ pid }) => (pid === usual!.pid) === isUsual),
  )
  expect([repeated!.length, others!.length]).toEqual([1, waiting.length - 1])
  // The text is no longer known to wait.
  await until('it is back on the usual connection', async () => (await ask('locked'))[0]!.pid === usual!.pid)
})

it('S26: a table that is locked for a moment is looked up again while another one stays locked', async () => {
  await using database = await openTestDatabase()
  await database.pool.query('create table held (n int); create table brief (n int)')
  await database.pool.query('insert into held values (1); insert into brief values (1)')
  const ask = (table: string, name = 'n') =>
    select<{ n: number }>(database.db, `select n as ${name} from ${table} where n = $1`, [1])
  const lock = async (table: string) => {
    const blocker = await database.pool.connect()
    await blocker.query(`begin; lock table ${table} in access exclusive mode`)
    return { [Symbol.dispose]: () => blocker.release(true), free: () => blocker.query('rollback') }
  }
  using held = await lock('held')
  let answered = 0
  // Several texts of the same table, as the hub has them.
  const waiting = ['a', 'b', 'c'].flatMap(name =>
    Array.from({ length: 20 }, () => ask('held', name).finally(() => answered++)),
  )
  using brief = await lock('brief')
  const behind = Array.from({ length: 20 }, () => ask('brief'))
  await setTimeout(200)
  await brief.free()
  expect((await Promise.all(behind)).flat().map(({ n }) => n)).toEqual(behind.map(() => 1))
  expect(await ask('brief')).toEqual([{ n: 1 }])
  expect(answered).toBe(0)
  await held.free()
  expect(await Promise.all(waiting)).toHaveLength(60)
})

it('answers look-ups in flight when it is closed, and rejects later ones', async () => {
  const database = await openTestDatabase()
  const inFlight = database.ask('last')
  await database[Symbol.asyncDispose]()
  expect(await inFlight).toMatchObject([{ asked: 'last' }])
  await expect(database.ask('late')).rejects.toThrow('closed')
})

async function openTestDatabase() {
  const scratch = await scratchDatabase()
  const errors: Error[] = []
  const database = openDatabase(scratch.connection, error => errors.push(error))
  return {
    ...database,
    errors,
    ask: (asked: string) => select<Backend>(database.db, BACKEND, [asked]),
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await scratch[Symbol.asyncDispose]()
    },
  }
}
