import { capturedLog, connectDevice, fuzzHub, heldDuring, testHub, until } from '@muster/testkit'
import { afterAll, expect, inject, it } from 'vitest'

/** How long frames are sent, in milliseconds: `npm run bench -- fuzz` sends a million. */
const BUDGET_MS = 15_000
const MIB = 1024 * 1024

const captured = capturedLog()
const hub = await testHub({}, captured.log)
const rejections: unknown[] = []
const onRejection = (reason: unknown): void => void rejections.push(reason)
process.on('unhandledRejection', onRejection)
afterAll(async () => {
  process.off('unhandledRejection', onRejection)
  await hub[Symbol.asyncDispose]()
})

const seed = inject('fuzzSeed')

it(`bears mutated frames over sockets while others are served (seed ${seed})`, async () => {
  const { token } = await hub.fleet()
  await using bystander = await connectDevice({ url: hub.url, token })
  const { deviceId } = bystander
  const latencies: number[] = []
  let isOver = false
  const serving = (async () => {
    while (!isOver) {
      const from = performance.now()
      await bystander.invoke('devices_SetProperty', { deviceId, name: 'alive', value: latencies.length })
      latencies.push(performance.now() - from)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  })()
  // What the first connections leave in caches and pools is no growth.
  await fuzzHub({ url: hub.url, token, seed, parallel: 8, maxFrames: Infinity, maxMs: BUDGET_MS / 5 })
  const {
    result: { frames, connections },
    heldBytes,
  } = await heldDuring(() =>
    fuzzHub({
      url: hub.url,
      token,
      seed: seed + 100,
      parallel: 8,
      maxFrames: Infinity,
      maxMs: (BUDGET_MS * 4) / 5,
      // A busy machine needs longer for what tells something.
      minFrames: 6_000,
    }),
  )
  isOver = true
  await serving
  latencies.sort((a, b) => a - b)
  const p99 = latencies[Math.floor(latencies.length * 0.99)]!
  process.stdout.write(
    `seed ${seed}: ${frames} mutated frames on ${connections} connections, another device's p99 ${p99.toFixed(0)} ms\n`,
  )
  expect(frames).toBeGreaterThan(5_000)
  expect(connections).toBeGreaterThan(100)
  expect(heldBytes).toBeLessThan(20 * MIB)
  // Both sides of every connection share this process, and the machine may be busy: this is whether others are served at all,
  // most of the time. The bench holds the goal, 50 ms for 99 of 100.
  expect(latencies[latencies.length >> 1]).toBeLessThan(5_000)
  await until('all of them are gone', () => hub.devices.sessions.length === 1, 30_000)
  expect(rejections).toEqual([])
  expect(captured.lines.filter(({ level }) => level === 'error')).toEqual([])
  const unfinished = await hub.db
    .selectFrom('audit_action')
    .where('status', 'in', ['Panicked', 'Pending'])
    .selectAll()
    .execute()
  expect(unfinished).toEqual([])
}, 300_000)
