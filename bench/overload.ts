import { countEvents, startBenchHub } from './hub-process.ts'
import type { PublishRun } from './load-client.ts'
import { watchGrowth } from './processes.ts'
import { report, reportGoal, startLoadClient } from './yardsticks.ts'

const DEVICES = 2_000
const PARALLEL = 64
/** Duration of the measurement of the peak, and of the events that are due during the overload, in seconds. */
const SECS = 10
/** Events that are due during the overload, as a multiple of the peak. */
const OVERLOAD = 3
/** Share of the peak that is published afterwards. */
const AFTERWARDS = 0.3
/** Latency, p99, from which on the hub counts as recovered, in milliseconds. */
const RECOVERED_MS = 250
/** Deadline of the recovery, in seconds. */
const RECOVERY_SECS = 10

/**
 * Publishes three times as many events as one hub stores, on a fixed schedule that does not wait for answers (docs/goals.md R8). The hub has
 * a heap of 512 MiB. Prints the rate at which it stores them, its growth, and the latencies right after.
 */
export async function overload(): Promise<void> {
  await using hub = await startBenchHub({ NODE_OPTIONS: '--max-old-space-size=512' })
  const client = startLoadClient()
  const { url, token } = hub
  await client.ask({ connect: { url, token, count: DEVICES, parallel: PARALLEL } })
  const publish = (devices: number, secs: number): Promise<PublishRun> =>
    client.ask<PublishRun>({ publish: { secs, devices, window: 1 } })
  const schedule = (perSec: number, secs: number): Promise<PublishRun> =>
    client.ask<PublishRun>({ schedule: { secs, devices: DEVICES, perSec: Math.round(perSec) } })
  // Compiles code and fills caches.
  await publish(200, 3)
  const peak = await publish(200, SECS)
  const perSec = peak.acknowledged / peak.secs
  report('peak', `${Math.round(perSec)} events a second, p99 ${peak.p99Ms.toFixed(0)} ms`)

  const stored = await countEvents(hub)
  using growth = watchGrowth(hub.pid, 100)
  const over = await schedule(OVERLOAD * perSec, SECS)
  const share = over.acknowledged / over.secs / perSec
  report(
    `${OVERLOAD} times the peak`,
    `${over.acknowledged} events in ${over.secs.toFixed(1)} s, p99 ${(over.p99Ms / 1000).toFixed(1)} s`,
  )
  reportGoal('R8', 'share of the peak', share.toFixed(2), '>= 0.80', share >= 0.8)
  const missing = stored + over.acknowledged - (await countEvents(hub))
  reportGoal('R8', 'acknowledged events that are missing', String(missing), '0', missing === 0)
  report('growth of the hub', `${(growth.mostKiB() / 1024).toFixed(0)} MiB`)

  let recoveredSecs = 0
  while (recoveredSecs < RECOVERY_SECS) {
    const { p99Ms } = await schedule(AFTERWARDS * perSec, 1)
    if (p99Ms <= RECOVERED_MS) break
    recoveredSecs++
  }
  reportGoal(
    'R8',
    `p99 <= ${RECOVERED_MS} ms again after`,
    `${recoveredSecs} s`,
    `< ${RECOVERY_SECS} s`,
    recoveredSecs < RECOVERY_SECS,
  )
  await client.end()
}
