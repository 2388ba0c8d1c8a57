import { setTimeout as pause } from 'node:timers/promises'
import { ask, forked } from './child.ts'
import { checkLedger } from './fleet.ts'
import { type BenchHub, count, startBenchHub } from './hub-process.ts'
import type { LedgerRun, ReconnectRun } from './load-client.ts'
import { residentKiB, watchGrowth } from './processes.ts'
import type { StreamsRun } from './stream-client.ts'
import { openProxy } from './tunnel.ts'
import type { DeviceReady } from './tunnel-device.ts'
import { type LoadClient, report, reportGoal, startLoadClient } from './yardsticks.ts'

/** Number of devices that publish continuously, one call after the other. */
const DEVICES = 200
/** Time in milliseconds after which a device that has not reconnected counts as lost. */
const GIVE_UP_MS = 60_000
/** Longest random pause between two kills of the hub, in milliseconds. */
const MAX_PAUSE_MS = 10_000
const STALLED_VIEWERS = 4

/**
 * Tests that faults lose no data (docs/goals.md R1, R2, R7). The hub is killed during ingest, its database is killed during ingest, and
 * viewers of a device's page stop reading. Arguments: number of kills of the hub (default 5; the 20 kills of the goal take five
 * minutes), number of kills of the database (default 3).
 */
export async function faults(hubDeaths = '5', databaseDeaths = '3'): Promise<void> {
  // The hub logs errors about its killed database, which are expected here.
  await using hub = await startBenchHub({ MUSTER_LOG_LEVEL: 'silent' })
  const client = startLoadClient()
  await client.ask({ connect: { url: hub.url, token: hub.token, count: DEVICES, parallel: 64 } })
  await killHub(hub, client, Number(hubDeaths))
  await killDatabase(hub, client, Number(databaseDeaths))
  await client.end()
  await stallViewers(hub)
}

/** Kills the hub at random moments while devices publish. The devices reconnect and resend unacknowledged events. */
async function killHub(hub: BenchHub, client: LoadClient, deaths: number): Promise<void> {
  await client.ask({ keepLedger: { devices: DEVICES, pauseMs: 0 } })
  const away: number[] = []
  for (let n = 0; n < deaths; n++) {
    await pause(500 + Math.random() * MAX_PAUSE_MS)
    const killedAt = Date.now()
    await hub.kill()
    const [, back] = await Promise.all([
      hub.start(),
      client.ask<ReconnectRun>({ reconnect: { parallel: 64, resumes: false, giveUpMs: GIVE_UP_MS } }),
    ])
    away.push((back.lastAdmittedAt - killedAt) / 1000)
  }
  await pause(1_000)
  await judgeLedger('R1', `hub killed ${deaths} times`, hub, client)
  report('  all devices reconnected after', away.map(secs => `${secs.toFixed(1)} s`).join(', '))
}

/** Kills the database server while devices publish. The devices must stay connected, and no event may be lost. */
async function killDatabase(hub: BenchHub, client: LoadClient, deaths: number): Promise<void> {
  await client.ask({ keepLedger: { devices: DEVICES, pauseMs: 0 } })
  await pause(2_000)
  using growth = watchGrowth(hub.pid, 100)
  const endedBefore = await count(hub, 'select count(*) from device_connection where ended_at is not null')
  const resumed: number[] = []
  for (let n = 0; n < deaths; n++) {
    await pause(2_000)
    const from = await lastReceived(hub)
    process.kill(hub.databasePid(), 'SIGKILL')
    await answered(() => hub.query('select 1'))
    const acceptsAt = performance.now()
    // Events in flight at the kill have an earlier receive time. A later receive time proves that storing works again.
    await answered(async () => {
      if ((await lastReceived(hub)) <= from) throw new Error('nothing stored yet')
    })
    resumed.push((performance.now() - acceptsAt) / 1000)
  }
  await pause(1_000)
  const grown = growth.mostKiB() / 1024
  await judgeLedger('R2', `database killed ${deaths} times`, hub, client)
  const slowest = Math.max(...resumed)
  reportGoal(
    'R2',
    'events are stored again',
    `${slowest.toFixed(2)} s after it accepts connections`,
    '<= 2 s',
    slowest <= 2,
  )
  const ended = await count(hub, 'select count(*) from device_connection where ended_at is not null')
  reportGoal('R2', 'devices disconnected', String(ended - endedBefore), '0', ended === endedBefore)
  reportGoal('R2', 'memory of the hub', `+${grown.toFixed(0)} MiB`, '<= 64 MiB', grown <= 64)
}

/** Events of earlier parts of this bench, by device. They are in the database too, so checks of later parts must include them. */
const earlier = new Map<string, LedgerRun[number]>()

async function judgeLedger(id: string, what: string, hub: BenchHub, client: LoadClient): Promise<void> {
  const ledger = await client.ask<LedgerRun>({ endLedger: true })
  for (const { deviceId, acknowledged, unanswered } of ledger) {
    const known = earlier.get(deviceId) ?? { deviceId, acknowledged: [], unanswered: [] }
    known.acknowledged.push(...acknowledged)
    known.unanswered.push(...unanswered)
    earlier.set(deviceId, known)
  }
  const { acknowledged, missing, unknown } = await checkLedger(hub, [...earlier.values()])
  reportGoal(
    id,
    what,
    `${missing} lost, ${unknown} unknown of ${acknowledged}`,
    '0 lost, 0 unknown',
    missing + unknown === 0,
  )
}

/**
 * Tests viewers of 10 GB pages that stop reading. Other streams must keep their rate, and the hub must buffer little for the
 * stalled viewers.
 */
async function stallViewers(hub: BenchHub): Promise<void> {
  const { child: source, ready: page } = await forked<{ port: number }>('tunnel-peer.ts', 'source')
  const stalledDevice = await forked<DeviceReady>('tunnel-device.ts', hub.url, hub.token)
  const { child: client } = await forked('stream-client.ts')
  const target = await openProxy(hub, stalledDevice.ready.deviceId, page.port)
  const rate = async (): Promise<number> =>
    (await ask<StreamsRun>(client, { streams: { target, path: '/flat', streams: 1, secs: 4 } })).perSec[0]!
  const before = [await rate(), await rate()]
  const residentBefore = residentKiB(hub.pid)
  await ask(client, { stall: { target, path: '/flat', count: STALLED_VIEWERS } })
  await pause(3_000)
  const held = (residentKiB(hub.pid) - residentBefore) / 1024 / STALLED_VIEWERS
  const beside = [await rate(), await rate()]
  const share = Math.max(...beside) / Math.max(...before)
  reportGoal(
    'R7',
    'a stream beside stalled ones',
    `${(share * 100).toFixed(0)} % of its rate`,
    '>= 90 %',
    share >= 0.9,
  )
  reportGoal('R7', 'memory of a stalled stream', `${held.toFixed(1)} MiB`, '<= 8 MiB', held <= 8)
  await ask(client, { release: true })
  for (const child of [source, stalledDevice.child, client]) child.disconnect()
}

/** Time at which the newest event was stored, in microseconds since 1970. */
async function lastReceived(hub: BenchHub): Promise<number> {
  const [row] = await hub.query(
    `select coalesce(extract(epoch from max(received_at)) * 1e6, 0)::bigint as last from device_event
      where received_at > now() - interval '10 minutes'`,
  )
  return Number(row!.last)
}

/** Repeats an attempt until it succeeds. Throws its last error after `GIVE_UP_MS`. */
async function answered(attempt: () => Promise<unknown>): Promise<void> {
  for (const deadline = Date.now() + GIVE_UP_MS; ; await pause(20)) {
    try {
      await attempt()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
  }
}
