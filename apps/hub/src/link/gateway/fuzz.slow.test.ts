import { capturedLog, connectDevice, fuzzHub, heldDuring, testHub, until } from '@muster/testkit'
import { afterAll, expect, inject, it } from 'vitest'

/** Time during which frames are sent, in milliseconds. `npm run bench -- fuzz` sends a million frames instead. */
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

it(`survives mutated frames over sockets while other devices are served (seed ${seed})`, async () => {
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
  // Warm-up: the first connections fill caches and pools. The measurement below must not count that memory as a leak.
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
      // If fewer frames were sent after `maxMs`, as on a busy machine, the run continues up to this number.
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
  // The hub and all its clients share this process, and the machine may be busy. So this test only checks that another device
  // is served. `npm run bench -- fuzz` checks the goal, a p99 of 50 ms.
  expect(latencies[latencies.length >> 1]).toBeLessThan(5_000)
  await until('all fuzzed connections have ended', () => hub.devices.sessions.length === 1, 30_000)
  expect(rejections).toEqual([])
  expect(captured.lines.filter(({ level }) => level === 'error')).toEqual([])
  const unfinished = await hub.db
    .selectFrom('audit_action')
    .where('status', 'in', ['Panicked', 'Pending'])
    .selectAll()
    .execute()
  expect(unfinished).toEqual([])
}, 300_000)
