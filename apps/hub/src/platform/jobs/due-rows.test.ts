import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestHub, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { RECURRING } from './define-job.ts'
import { TEST_TABLES, testLists } from './testing/test-lists.ts'

let hub: TestHub

beforeAll(async () => {
  hub = await testHub()
  await hub.pool.query(TEST_TABLES)
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(() => hub.pool.query('truncate test_list, test_item'))

/** Makes a list with a number of items. */
async function listOf(listId: string, count: number): Promise<void> {
  await hub.pool.query('insert into test_list (list_id) values ($1)', [listId])
  await hub.pool.query(
    'insert into test_item (list_id, position) select $1, i from generate_series(0, $2::int - 1) i',
    [listId, count],
  )
}

/** Positions of the items of a list by their outcome. */
async function outcomes(listId: string): Promise<Record<string, number[]>> {
  const { rows } = await hub.pool.query<{ outcome: string; positions: number[] }>(
    `select coalesce(outcome, 'Open') as outcome, array_agg(position order by position) as positions
       from test_item where list_id = $1 group by 1`,
    [listId],
  )
  return Object.fromEntries(rows.map(({ outcome, positions }) => [outcome, positions]))
}

const run = (process: (positions: number[]) => Promise<void>) =>
  testLists(hub, process).runDue(AbortSignal.timeout(20_000), 'job')

it('lets two nodes process different items of a list at once', async () => {
  await listOf('one', 8)
  const held = Promise.withResolvers<void>()
  const [first, second]: [number[], number[]] = [[], []]
  const one = run(async positions => {
    first.push(...positions)
    await held.promise
  })
  await until('the first node has items', () => first.length > 0)
  const other = run(async positions => void second.push(...positions))
  await until('the second node has items', () => second.length > 0)
  expect([first, second]).toEqual([
    [0, 1, 2, 3, 4],
    [5, 6, 7],
  ])
  held.resolve()
  await Promise.all([one, other])
  expect(await outcomes('one')).toEqual({ Done: [0, 1, 2, 3, 4, 5, 6, 7] })
})

it('processes the items of a node that was killed', async () => {
  await listOf('one', 8)
  const { host, user, password, database, connectionString } = hub.pool.options
  const script = `
    import { openDatabase } from '${join(import.meta.dirname, '../database/client/connection.ts')}'
    import { testLists } from '${join(import.meta.dirname, 'testing/test-lists.ts')}'
    const { db } = openDatabase(${JSON.stringify({ host, user, password, database, connectionString })}, () => {})
    const hold = async () => {
      process.stdout.write('claimed')
      await new Promise(() => setInterval(() => {}, 1000))
    }
    await testLists({ db }, hold).runPortion('one')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  await once(child.stdout, 'data')
  const running = run(async () => {})
  await until('the items of this node are done', async () => (await outcomes('one')).Done?.length === 3)
  expect(await outcomes('one')).toEqual({ Open: [0, 1, 2, 3, 4], Done: [5, 6, 7] })
  child.kill('SIGKILL')
  await exited
  await running
  expect(await outcomes('one')).toEqual({ Done: [0, 1, 2, 3, 4, 5, 6, 7] })
})

it('ends items whose deadline has passed with their reason, and does not process them', async () => {
  await listOf('one', 8)
  await hub.pool.query("update test_item set deadline_at = now() - interval '1 s' where position in (1, 6)")
  const processed: number[] = []
  await run(async positions => void processed.push(...positions))
  expect(processed).toEqual([0, 2, 3, 4, 5, 7])
  expect(await outcomes('one')).toEqual({ DeadlinePassed: [1, 6], Done: [0, 2, 3, 4, 5, 7] })
})

it('lets an item fail alone that cannot be processed', async () => {
  await listOf('one', 8)
  await run(async positions => {
    if (positions.includes(3)) throw new Error('refused')
  })
  expect(await outcomes('one')).toEqual({ Failed: [3], Done: [0, 1, 2, 4, 5, 6, 7] })
})

it.each([
  ['takes too long', '57014'],
  ['waits too long for a lock', '55P03'],
])('lets an item fail alone whose statement %s', async (_, code) => {
  await listOf('one', 8)
  await run(async positions => {
    if (positions.includes(3)) throw Object.assign(new Error('canceling statement'), { code })
  })
  expect(await outcomes('one')).toEqual({ Failed: [3], Done: [0, 1, 2, 4, 5, 6, 7] })
})

it('lets an item fail alone that gets no result', async () => {
  await listOf('one', 8)
  await run(async positions => {
    if (positions.includes(3)) positions.splice(positions.indexOf(3), 1)
  })
  expect(await outcomes('one')).toEqual({ Failed: [3], Done: [0, 1, 2, 4, 5, 6, 7] })
})

it('stops between items that are processed alone', async () => {
  await listOf('one', 8)
  const stopping = new AbortController()
  const running = testLists(hub, async positions => {
    if (positions.length > 1) throw new Error('refused')
    if (positions[0] === 2) stopping.abort()
  }).runDue(stopping.signal, 'job')
  await expect(running).rejects.toThrow('aborted')
  expect(await outcomes('one')).toEqual({ Open: [3, 4, 5, 6, 7], Done: [0, 1, 2] })
})

it('makes a list due for the next attempt of its job when the database fails', async () => {
  await listOf('one', 8)
  const lost = Object.assign(new Error('lost'), { code: 'ECONNRESET' })
  await expect(run(() => Promise.reject(lost))).rejects.toThrow('lost')
  const { rows } = await hub.pool.query<{ secs: number }>(
    'select extract(epoch from due_at - now())::float8 as secs from test_list',
  )
  expect(rows[0]!.secs).toBeGreaterThan(0)
  expect(rows[0]!.secs).toBeLessThanOrEqual(RECURRING.retryDelaySecs)
})

it('processes lists round-robin', async () => {
  await listOf('large', 120)
  await listOf('small', 5)
  await hub.pool.query("update test_list set due_at = now() - interval '1 min' where list_id = 'large'")
  let smallEndedAt = 0
  let portions = 0
  await run(async () => {
    portions++
    if (smallEndedAt === 0 && (await outcomes('small')).Done) smallEndedAt = portions
  })
  // The list of 24 portions gives way after 10 portions.
  expect(smallEndedAt).toBe(12)
})
