import { setTimeout as pause } from 'node:timers/promises'
import { ask, forked, median } from './child.ts'
import type { HttpLoad, HttpRun } from './http-client.ts'
import { requestTo, startBenchHub } from './hub-process.ts'
import type { PublishRun } from './load-client.ts'
import { runText } from './people.ts'
import { treeProcessorSecs } from './processes.ts'
import { report, reportGoal, startLoadClient } from './yardsticks.ts'

const ROUNDS = 5
const SECS = 10
const FLOOD_PER_SEC = 500
/**
 * Seconds of flood before the events begin. In this time the flood opens its connections and the hub compiles its code, which
 * must not be measured.
 */
const FLOODED_SECS = 2
const DEVICES = 1_000
/** Event rate of goal P3 (docs/goals.md). */
const EVENTS_PER_SEC = 5_000
/**
 * CPU time for the events, in cores. It allows 5,000 events per second if an event costs at most 30 µs of CPU time. On a slower
 * machine the bench sends fewer events per second.
 */
const EVENTS_CORES = 0.15
const TRIAL = { secs: 5, perSec: 1_000 }
const PROXY_SECRET = 'the bench is its own proxy, with a secret of its own'

/**
 * Floods the hub with wrong sign-ins: to one account from one client IP, and to invented accounts from many client IPs.
 * Measures the time until scheduled events are acknowledged, alternately with and without flood (docs/goals.md P19).
 */
export async function flood(): Promise<void> {
  // The hub trusts this bench as its proxy, so that the client can send any client IP in `X-Forwarded-For`.
  await using hub = await startBenchHub({
    MUSTER_TRUSTED_PROXIES: '127.0.0.1',
    MUSTER_PROXY_SECRET: PROXY_SECRET,
  })
  const devices = startLoadClient()
  await devices.ask({ connect: { url: hub.url, token: hub.token, count: DEVICES, parallel: 64 } })
  const { child: client } = await forked('http-client.ts')
  const wrong = (email: string): HttpLoad => ({
    ...requestTo(hub, '/api/private/login', { email, password: 'wrong password', remember: false }),
    connections: 100,
    secs: FLOODED_SECS + SECS,
    perSec: FLOOD_PER_SEC,
  })
  const floods: Record<string, HttpLoad> = {
    'from one address': wrong(hub.signIn.email),
    'from everywhere': {
      ...wrong('nobody-{n}@example.com'),
      headers: {
        origin: hub.url,
        'x-forwarded-for': '{address}',
        'x-muster-proxy-secret': PROXY_SECRET,
      },
    },
  }

  const trial = { schedule: { devices: DEVICES, ...TRIAL } }
  await devices.ask(trial)
  const used = treeProcessorSecs(hub.pid)
  const { acknowledged: events } = await devices.ask<PublishRun>(trial)
  const eventSecs = (treeProcessorSecs(hub.pid) - used) / events
  const perSec = Math.min(EVENTS_PER_SEC, Math.floor(EVENTS_CORES / eventSecs))
  report(
    'hub and database, one event',
    `${Math.round(eventSecs * 1e6)} us of processor time; ${perSec} a second`,
  )
  const schedule = { schedule: { secs: SECS, devices: DEVICES, perSec } }
  const alone: PublishRun[] = []
  const beside = new Map(Object.keys(floods).map(name => [name, [] as PublishRun[]]))
  const floodRuns = new Map(Object.keys(floods).map(name => [name, [] as HttpRun[]]))
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await devices.ask<PublishRun>(schedule))
    for (const [name, load] of Object.entries(floods)) {
      const [run, floodRun] = await Promise.all([
        pause(FLOODED_SECS * 1000).then(() => devices.ask<PublishRun>(schedule)),
        ask<HttpRun>(client, load),
      ])
      beside.get(name)!.push(run)
      floodRuns.get(name)!.push(floodRun)
    }
  }
  const p99 = (runs: PublishRun[]): number => median(runs.map(run => run.p99Ms))
  const p50 = (runs: PublishRun[]): number => median(runs.map(run => run.p50Ms))
  const latency = (runs: PublishRun[]): string =>
    `p50 ${p50(runs).toFixed(1)} ms, p99 ${p99(runs).toFixed(1)} ms`
  report('events, alone', latency(alone))
  for (const name of Object.keys(floods)) {
    const runs = beside.get(name)!
    report(`wrong sign-ins ${name}`, runText(floodRuns.get(name)!.at(-1)!))
    report(`events during the flood`, latency(runs))
    const slower = p99(runs) / p99(alone)
    reportGoal(
      'P19',
      `events during wrong sign-ins ${name}`,
      `p99 x${slower.toFixed(2)}`,
      '<= x1.50',
      slower <= 1.5,
    )
  }

  client.disconnect()
  await devices.end()
}
