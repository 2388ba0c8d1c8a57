import { fuzzLinks, liveBytes } from '@muster/link/testing'
import { connectDevice } from '@muster/testkit/device'
import { forked, quantile } from './child.ts'
import { type BenchHub, count, startBenchHub } from './hub-process.ts'
import { memoryKiB } from './processes.ts'
import { report } from './yardsticks.ts'

const FRAMES_IN_MEMORY = 10_000_000
const FRAMES_ON_SOCKETS = 1_000_000
/** Number of frames that are sent before measuring starts, because the first frames fill caches and pools. */
const WARM_UP_FRAMES = 200_000
const TIME_LIMIT_MS = 15 * 60 * 1000
/** Interval of the normal device's actions, in milliseconds. */
const PROBE_MS = 20
/** Limit of the p99 of the normal device's actions, in milliseconds. */
const MAX_P99_MS = 50
const MAX_WAITING_PROBES = 500
/** Limit for the growth of the heap after a garbage collection, in MiB. It is above the normal variation. */
const MAX_HEAP_GROWTH_MIB = 5
/** Limit for the growth of the memory of the hub's process, in MiB. It is above the normal variation. */
const MAX_GROWTH_MIB = 64

/**
 * Sends ten million mutated frames to in-memory links, and a million over sockets to a hub that serves a normal device at the
 * same time. The optional argument is the seed of an earlier run, which repeats it. Throws if memory grew, the hub failed or the
 * normal device was slow.
 */
export async function fuzz(seedOption?: string): Promise<void> {
  const seed = Number(seedOption ?? Date.now() % 0x7fffffff)
  process.stdout.write(`repeat with: npm run bench -- fuzz ${seed}\n`)
  process.on('unhandledRejection', error => {
    throw error
  })
  await inMemory(seed)
  await using hub = await startBenchHub({ MUSTER_LOG_LEVEL: 'error' })
  await overSockets(hub, seed)
}

async function inMemory(seed: number): Promise<void> {
  let firstMib = 0
  let lastMib = 0
  const started = performance.now()
  const { links, ends } = await fuzzLinks(FRAMES_IN_MEMORY, seed, number => {
    if (number % (FRAMES_IN_MEMORY / 10) !== 0) return
    lastMib = liveBytes() / 1024 / 1024
    firstMib ||= number > 0 ? lastMib : 0
  })
  const secs = (performance.now() - started) / 1000
  report('in memory', `${FRAMES_IN_MEMORY} frames, ${links} links, ${rate(FRAMES_IN_MEMORY, secs)}`)
  report('', `heap in use: ${firstMib.toFixed(1)} MiB after a tenth, ${lastMib.toFixed(1)} MiB at the end`)
  if (ends.has('internal error')) throw new Error('a link ended by an error of its own')
  if (lastMib - firstMib > MAX_HEAP_GROWTH_MIB) throw new Error('memory grew')
}

async function overSockets(hub: BenchHub, seed: number): Promise<void> {
  const { pid } = hub
  await using other = await connectDevice({ url: hub.url, token: hub.token })
  await send(hub, seed, WARM_UP_FRAMES)
  const before = memoryKiB(pid).hub
  const latencies: number[] = []
  let waiting = 0
  const probe = async (): Promise<void> => {
    if (waiting >= MAX_WAITING_PROBES) return void latencies.push(Infinity)
    const from = performance.now()
    waiting++
    await other.invoke('devices_SetProperty', { deviceId: other.deviceId, name: 'alive', value: from })
    waiting--
    latencies.push(performance.now() - from)
  }
  // Actions run on a fixed schedule, and latency counts from the due time. Otherwise a slow answer would delay the next action
  // and hide its latency.
  const probing = setInterval(() => void probe(), PROBE_MS)
  const started = performance.now()
  const { frames, connections } = await send(hub, seed + 1000, FRAMES_ON_SOCKETS)
  const secs = (performance.now() - started) / 1000
  clearInterval(probing)
  const grownMib = (memoryKiB(pid).hub - before) / 1024
  latencies.sort((a, b) => a - b)
  const p99 = quantile(latencies, 0.99)
  report('over sockets', `${frames} frames, ${connections} connections, ${rate(frames, secs)}`)
  report(
    '',
    `another device: p99 ${p99.toFixed(1)} ms of ${latencies.length} actions; hub grew by ${grownMib.toFixed(1)} MiB`,
  )
  const { status } = await fetch(`${hub.url}/readyz`)
  if (hub.pid !== pid || status !== 200) throw new Error('the hub did not survive')
  const panicked = await count(
    hub,
    `select count(*) from audit_action where status in ('Panicked', 'Pending')`,
  )
  if (panicked > 0) throw new Error(`${panicked} actions panicked`)
  if (grownMib > MAX_GROWTH_MIB) throw new Error('memory grew')
  if (p99 > MAX_P99_MS) throw new Error(`another device waited for more than ${MAX_P99_MS} ms`)
}

async function send(
  { url, token }: BenchHub,
  seed: number,
  maxFrames: number,
): Promise<{ frames: number; connections: number }> {
  const order = { url, token, seed, parallel: 8, maxFrames, maxMs: TIME_LIMIT_MS }
  const client = await forked<{ frames: number; connections: number }>(
    'fuzz-client.ts',
    JSON.stringify(order),
  )
  return client.ready
}

function rate(frames: number, secs: number): string {
  return `${Math.round(frames / secs)} per second`
}
