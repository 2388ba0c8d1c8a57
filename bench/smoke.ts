import { count, countEvents, startBenchHub } from './hub-process.ts'
import type { ConnectRun, PublishRun } from './load-client.ts'
import { memoryKiB } from './processes.ts'
import { report, startLoadClient } from './yardsticks.ts'

const DEVICES = 2_000

/** Connects 2,000 devices to one hub and publishes events from 200 of them; prints the results. */
export async function smoke(): Promise<void> {
  await using hub = await startBenchHub()
  await settle()
  const idle = memoryKiB(hub.pid)
  report('idle hub', `${mib(idle.hub)} MiB, with its database ${mib(idle.all)} MiB (PSS)`)

  const client = startLoadClient()
  const { secs } = await client.ask<ConnectRun>({
    connect: { url: hub.url, token: hub.token, count: DEVICES, parallel: 64 },
  })
  const shown = await count(hub, 'select count(*) from device where is_connected')
  if (shown !== DEVICES) throw new Error(`${shown} of ${DEVICES} devices are shown as connected`)
  await settle()
  const loaded = memoryKiB(hub.pid)
  report(
    'connects',
    `${Math.round(DEVICES / secs)} per second (${DEVICES} new devices, each enrolled and its first action answered)`,
  )
  report(
    'memory',
    `${((loaded.hub - idle.hub) / DEVICES).toFixed(1)} KiB per connection (hub, PSS, user space)`,
  )

  for (const window of [1, 20]) {
    const before = await countEvents(hub)
    const run = await client.ask<PublishRun>({
      publish: { secs: 10, devices: 200, window },
    })
    const stored = (await countEvents(hub)) - before
    if (stored < run.acknowledged)
      throw new Error(`${run.acknowledged} events acknowledged, ${stored} stored`)
    const rate = Math.round(run.acknowledged / run.secs)
    const latency = `p50 ${run.p50Ms.toFixed(1)} ms, p99 ${run.p99Ms.toFixed(1)} ms`
    report(
      `events, ${window} a call`,
      `${rate} per second acknowledged durable (200 devices, 200 bytes, ${latency})`,
    )
  }
  await client.end()
}

/** Waits 3 s, so that garbage collection and flushing of buffers after a start or a connect do not affect a measurement. */
function settle(): Promise<void> {
  return new Promise(done => setTimeout(done, 3_000))
}

function mib(kib: number): string {
  return (kib / 1024).toFixed(0)
}
