import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../testkit/src/free-port.ts'
import { median } from './child.ts'
import { type BenchHub, startBenchHub } from './hub-process.ts'
import { BUSY_DEVICES, type Figures, measureHub, measureProperties } from './ingest.ts'
import { withForeignCores } from './processes.ts'
import { type LoadClient, report, reportGoal, startLoadClient } from './yardsticks.ts'

/** Limit of the median ratio of processor time. */
const MOST = 1.05
/** Time from the start of a measurement to the scrape of the metrics, in milliseconds. */
const SCRAPE_AFTER_MS = 1_000

type Side = { hub: BenchHub; client: LoadClient; scrape?: () => Promise<void> }

type Loads = Record<string, (side: Side) => Promise<Figures>>

const EVENTS: Loads = {
  'event, one a call': ({ hub, client }) => measureHub(hub, client, 1),
  'event, 20 a call': ({ hub, client }) => measureHub(hub, client, 20),
}
const PROPERTY_WRITES: Loads = {
  'property write, plain': ({ hub, client }) => measureProperties(hub, client, 'plain'),
  'property write, update status': ({ hub, client }) => measureProperties(hub, client, 'update status'),
}

/**
 * Compares the processor time of two hubs (docs/goals.md P29). Arguments: `metrics` (default), which compares events of the hub with and
 * without metrics, or the folder of another checkout, which compares events and property writes of this hub with those of that one; and
 * the number of pairs of measurements (default 5). The hubs take turns, and a different one begins each time. With metrics, each measurement of 6 s
 * contains one scrape; Prometheus scrapes every 15 s.
 */
export async function compare(other = 'metrics', pairs = '5'): Promise<void> {
  const isMetrics = other === 'metrics'
  const port = await freePort()
  const token = randomBytes(32).toString('hex')
  await using before = isMetrics ? await startBenchHub() : await startBenchHub({}, other)
  await using after = await startBenchHub(
    isMetrics ? { MUSTER_OPERATOR_PORT: String(port), MUSTER_OPERATOR_TOKEN: token } : {},
  )
  const sides: [Side, Side] = [
    { hub: before, client: startLoadClient() },
    {
      hub: after,
      client: startLoadClient(),
      ...(isMetrics && { scrape: () => scrape(port, token) }),
    },
  ]
  for (const { hub, client } of sides)
    await client.ask({ connect: { url: hub.url, token: hub.token, count: BUSY_DEVICES, parallel: 64 } })
  for (const [name, load] of Object.entries(isMetrics ? EVENTS : { ...EVENTS, ...PROPERTY_WRITES })) {
    const microsecs: [number[], number[]] = [[], []]
    let mostForeign = 0
    for (let pair = 0; pair < Number(pairs); pair++)
      for (const at of pair % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const { result, foreignCores } = await withForeignCores(() => measured(load, sides[at]))
        microsecs[at].push(result.microsecs)
        mostForeign = Math.max(mostForeign, foreignCores)
      }
    const ratios = microsecs[1].map((after, pair) => after / microsecs[0][pair]!)
    const ratio = median(ratios)
    report(`${name}: ratios of the pairs`, ratios.map(one => one.toFixed(3)).join(', '))
    report(`${name}: foreign load, at most`, `${mostForeign.toFixed(2)} cores`)
    reportGoal(
      'P29',
      `${name}: ${isMetrics ? 'without and with metrics' : 'there and here'}`,
      `${median(microsecs[0]).toFixed(1)} and ${median(microsecs[1]).toFixed(1)} us: x${ratio.toFixed(3)}`,
      `<= x${MOST}`,
      ratio <= MOST,
    )
  }
  for (const { client } of sides) await client.end()
}

async function measured(load: (side: Side) => Promise<Figures>, side: Side): Promise<Figures> {
  const [figures] = await Promise.all([load(side), side.scrape && pause(SCRAPE_AFTER_MS).then(side.scrape)])
  return figures
}

async function scrape(port: number, token: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, {
    headers: { authorization: `Bearer ${token}` },
  })
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`)
  await response.text()
}
