import { databaseWire, scratchDatabase } from '@muster/testkit'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { openDatabase, withQueryOptions } from './connection.ts'

it('destroys a silent connection and continues on another', async () => {
  await using scratch = await scratchDatabase()
  await using wire = await databaseWire(scratch)
  const { db, pool, ...database } = openDatabase(wire.connection, () => {}, { silentMs: 3_000 })
  await using _ = database
  const named = { name: 'one', text: 'select 1 as one' }
  await Promise.all(Array.from({ length: 3 }, () => pool.query('select pg_sleep(0.5)')))
  wire.freeze()
  const answers = await Promise.allSettled([
    pool.query(named),
    sql`select ${1}::int`.execute(db),
    db.transaction().execute(tx => sql`select 1`.execute(tx)),
  ])
  const silent = { code: 'ETIMEDOUT', message: 'The database has not answered for 3 s.' }
  for (const answer of answers) expect(answer).toMatchObject({ status: 'rejected', reason: silent })
  expect((await pool.query(named)).rows).toEqual([{ one: 1 }])
})

it('waits for a statement without a timeout', async () => {
  await using scratch = await scratchDatabase()
  const { db, ...database } = openDatabase(scratch.connection, () => {}, { silentMs: 500 })
  await using _ = database
  await sql`select pg_sleep(1.5)`.execute(withQueryOptions(db, { timeout: 'none' }))
  await expect(sql`select pg_sleep(60)`.execute(db)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
})

it('reports slow statements of the pool, with and without Kysely, without their values', async () => {
  await using scratch = await scratchDatabase()
  const slow: { text: string; durationMs: number }[] = []
  const { db, pool, ...database } = openDatabase(scratch.connection, () => {}, {
    onSlow: (text, durationMs) => slow.push({ text, durationMs }),
  })
  await using _ = database
  await Promise.all([
    pool.query('select pg_sleep($1)', [1.1]),
    sql`select pg_sleep(${1.2})`.execute(db),
    pool.query('select 1'),
  ])
  expect(slow.map(({ text }) => text).sort()).toEqual(['select pg_sleep($1)', 'select pg_sleep($1)'])
  expect(slow.every(({ durationMs }) => durationMs >= 1_000)).toBe(true)
})
