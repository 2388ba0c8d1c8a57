import { capturedLog, scratchDatabase, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { ConfigError } from '../config/config-error.ts'

const KEY = 'ab'.repeat(32)
const OTHER = 'cd'.repeat(32)
const refusal = new ConfigError(
  'MUSTER_INSTANCE_KEY: found another key than the running nodes have, expected the same one on every node.',
)

it('accepts only the key of the running nodes or its successor', { timeout: 60_000 }, async () => {
  await using hub = await testHub({ instanceKey: KEY })
  const databaseUrl = hub.pool.options.connectionString
  await using _same = await testHub({ databaseUrl, instanceKey: KEY })
  await expect(testHub({ databaseUrl, instanceKey: OTHER })).rejects.toEqual(refusal)
  await expect(testHub({ databaseUrl })).rejects.toEqual(refusal)
  await using _next = await testHub({ databaseUrl, instanceKey: OTHER, previousInstanceKey: KEY })
  await expect(testHub({ databaseUrl, instanceKey: KEY })).rejects.toEqual(refusal)
})

it('accepts a new key when no other node runs, and warns unless the previous key is known', {
  timeout: 60_000,
}, async () => {
  await using database = await scratchDatabase('muster')
  const warning = 'the instance key has changed'
  for (const [instanceKey, previousInstanceKey, isLogged] of [
    [KEY, undefined, false],
    [OTHER, undefined, true],
    [OTHER, undefined, false],
    [KEY, OTHER, false],
  ] as const) {
    const { log, lines } = capturedLog()
    await using hub = await testHub({ databaseUrl: database.url, instanceKey, previousInstanceKey }, log)
    expect(await hub.readiness.state()).toEqual({ status: 'ready' })
    expect(JSON.stringify(lines).includes(warning)).toBe(isLogged)
  }
})
