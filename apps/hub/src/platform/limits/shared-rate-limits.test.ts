import { ask, secondNode, type TestNode, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

// The interval is long enough that on a busy machine no node is marked as dead.
const heartbeatMs = 2_500
const hub = await testHub({ heartbeatMs })
let second: TestNode
beforeAll(async () => {
  second = await secondNode(hub, { heartbeatMs })
  // Each attempt uses a new key, because the attempts for one key are limited.
  let attempts = 0
  await until('both know each other', async () => {
    const probe = `probe ${++attempts}`
    await hub.limits.take('sign-in account', probe)
    return (await counts(probe)).length > 0
  })
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

async function counts(key: string): Promise<unknown[]> {
  const { rows } = await hub.pool.query('select key, points from rate_limit_count where key like $1', [
    `%:${key}`,
  ])
  return rows
}

function signIn(node: { url: string }, email: string) {
  return ask(node, '/api/private/login', { body: { email, password: 'wrong password' } })
}

it('limits failed sign-ins on two nodes as on one, until the right one gives the count back', async () => {
  const { userId, email } = await hub.user()
  // 20 failed sign-ins in 15 minutes are allowed per account. The test counts 18 of them directly, because hashing passwords takes long.
  for (let n = 0; n < 18; n++) await (n % 2 === 0 ? hub : second).limits.take('sign-in account', userId)
  expect((await signIn(hub, email)).status).toBe(401)
  expect((await signIn(second, email)).status).toBe(401)
  for (const node of [hub, second, hub, second]) {
    const answer = await signIn(node, email)
    expect(answer.status).toBe(429)
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  }
  // A refused attempt is not counted.
  expect(await counts(userId)).toEqual([{ key: `sign-in account:${userId}`, points: 20 }])
  await second.limits.clear('sign-in account', userId)
  await second.limits.take('sign-in account', userId)
})

it('keeps counts of floods in the memory of each node', async () => {
  await hub.limits.take('device refused', '203.0.113.9')
  await hub.limits.take('no credentials', '203.0.113.9')
  expect(await counts('203.0.113.9')).toEqual([])
})

it('counts in memory while the database cannot', async () => {
  await hub.pool.query('alter table rate_limit_count rename to away')
  try {
    for (let n = 0; n < 20; n++) await hub.limits.take('sign-in account', 'someone')
    await expect(hub.limits.take('sign-in account', 'someone')).rejects.toThrow('Too many requests')
    await hub.limits.requireUnspent('sign-in address', '203.0.113.9')
  } finally {
    await hub.pool.query('alter table away rename to rate_limit_count')
  }
})

it('removes counts that have expired', async () => {
  await hub.pool.query(
    "insert into rate_limit_count (key, points, expire) values ('sign-in account:old', 1, 1700000000000)",
  )
  await hub.limits.take('sign-in account', 'new')
  await hub.runJob('instance_CleanupExpired', {})
  expect(await counts('old')).toEqual([])
  expect(await counts('new')).toHaveLength(1)
})
