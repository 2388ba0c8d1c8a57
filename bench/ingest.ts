import { type BenchHub, countEvents, startBenchHub } from './hub-process.ts'
import type { PublishRun } from './load-client.ts'
import { treeProcessorSecs } from './processes.ts'
import {
  FIRST_WRITTEN_EVENT,
  type LoadClient,
  measureCommits,
  measureCopy,
  measureEcho,
  measureRows,
  middle,
  quietRounds,
  report,
  reportGoal,
  startLoadClient,
} from './yardsticks.ts'

const ROUNDS = 3
/** Number of devices that publish at full speed. */
export const BUSY_DEVICES = 200
/** Number of devices that publish on a schedule. */
const SCHEDULED_DEVICES = 1_000
const SCHEDULED_PER_SEC = 5_000
const MESSAGE_BYTES = 200
const WINDOWS = [1, 20] as const
const HUB_SECS = 6
const YARDSTICK_SECS = 4

/**
 * Properties that devices write: one that no list shows, and the update status. A write of the update status also updates a row of
 * `device_update`, from which the device list is read. Each property has two values, which a device writes in turn.
 */
const PROPERTIES = {
  plain: { name: 'bench.measured', values: [reading(21.5), reading(22.5)] },
  'update status': {
    name: 'dev.nexigon.ota.status',
    values: [updateStatus('DOWNLOADING'), updateStatus('INSTALLING')],
  },
} satisfies Record<string, { name: string; values: [unknown, unknown] }>
export type PropertyKind = keyof typeof PROPERTIES
const PROPERTY_KINDS = Object.keys(PROPERTIES) as PropertyKind[]

export type Figures = { microsecs: number; perSec: number }
type Round = {
  echo: Record<number, Figures>
  hub: Record<number, Figures>
  properties: Partial<Record<PropertyKind, Figures>>
  rows: Figures
  copyPerSec: number
}

/**
 * Measures events of devices (docs/goals.md P1, P2, P3). Compares the CPU time of hub and database per event with a baseline: the CPU
 * time of a plain WebSocket echo plus that of rows inserted by the PostgreSQL driver alone. Measurements of both alternate. Also
 * measures rates, the cost of property writes, and the time to acknowledgement at a fixed rate. Argument: duration of the measurement
 * at the fixed rate, in seconds.
 */
export async function ingest(scheduleSecs = '60'): Promise<void> {
  await using hub = await startBenchHub()
  const client = startLoadClient()
  await client.ask({
    connect: { url: hub.url, token: hub.token, count: SCHEDULED_DEVICES, parallel: 64 },
  })
  const devices = await hub.query('select device_id from device limit $1', [BUSY_DEVICES])
  const deviceIds = devices.map(row => row.device_id as string)

  const { rows, foreignCores } = await quietRounds(ROUNDS, async (at): Promise<Round> => {
    const round: Round = {
      echo: {},
      hub: {},
      properties: {},
      rows: { microsecs: 0, perSec: 0 },
      copyPerSec: 0,
    }
    for (const window of WINDOWS) {
      const load = { devices: BUSY_DEVICES, secs: YARDSTICK_SECS, window, messageBytes: MESSAGE_BYTES }
      round.echo[window] = await measureEcho({ corks: window > 1 }, load)
      round.hub[window] = await measureHub(hub, client, window)
    }
    for (const kind of PROPERTY_KINDS) round.properties[kind] = await measureProperties(hub, client, kind)
    const first = FIRST_WRITTEN_EVENT + at * 10_000_000
    const rowLoad = { secs: YARDSTICK_SECS, deviceIds, batch: 1000, connections: 2, first }
    round.rows = await measureRows(hub, rowLoad)
    round.copyPerSec = await measureCopy(hub, deviceIds, at)
    return round
  })

  const driver = {
    microsecs: middle(rows, round => round.rows.microsecs),
    perSec: middle(rows, round => round.rows.perSec),
  }
  const copyPerSec = middle(rows, round => round.copyPerSec)
  report('foreign load, at most', `${foreignCores.toFixed(2)} cores`)
  report('rows by the driver, 1,000 a statement, x2', `${us(driver.microsecs)}, ${k(driver.perSec)}`)
  report('rows by COPY from files, x2', k(copyPerSec))
  for (const window of WINDOWS) {
    const echo = middle(rows, round => round.echo[window]!.microsecs)
    const own = middle(rows, round => round.hub[window]!.microsecs)
    const perSec = middle(rows, round => round.hub[window]!.perSec)
    const name = `${window} ${window === 1 ? 'event' : 'events'} a call`
    report(`echo, window ${window}`, us(echo))
    report(`hub and database, ${name}`, `${us(own)}, ${k(perSec)}`)
    const share = (echo + driver.microsecs) / own
    reportGoal('P1', `cost, ${name}`, `${share.toFixed(2)} of the least`, '>= 0.70', share >= 0.7)
    const least = window === 1 ? 0.25 : 0.5
    const ofRows = perSec / driver.perSec
    reportGoal(
      'P2',
      `rate, ${name}`,
      `${ofRows.toFixed(2)} of the driver's rows`,
      `>= ${least.toFixed(2)}`,
      ofRows >= least,
    )
    if (window > 1)
      reportGoal(
        'P2',
        `rate, ${name}`,
        `${(perSec / copyPerSec).toFixed(2)} of COPY`,
        '>= 0.35',
        perSec / copyPerSec >= 0.35,
      )
  }

  for (const kind of PROPERTY_KINDS) {
    const own = middle(rows, round => round.properties[kind]!.microsecs)
    const perSec = middle(rows, round => round.properties[kind]!.perSec)
    report(`hub and database, property write, ${kind}`, `${us(own)}, ${k(perSec)}`)
  }

  const secs = Number(scheduleSecs)
  const before = treeProcessorSecs(hub.pid)
  const events = await countEvents(hub)
  const [run, commits] = await Promise.all([
    client.ask<PublishRun>({ schedule: { secs, devices: SCHEDULED_DEVICES, perSec: SCHEDULED_PER_SEC } }),
    measureCommits(hub, secs),
  ])
  await expectStored(hub, events, run)
  report(
    'hub and database on the schedule',
    us(((treeProcessorSecs(hub.pid) - before) / run.acknowledged) * 1e6),
  )
  report('commits of one row meanwhile', `p99 ${commits.p99Ms.toFixed(1)} ms of ${commits.count}`)
  const slower = run.p99Ms / commits.p99Ms
  reportGoal(
    'P3',
    `acknowledged, ${SCHEDULED_PER_SEC} a second for ${secs} s`,
    `p50 ${run.p50Ms.toFixed(1)} ms, p99 ${run.p99Ms.toFixed(1)} ms, x${slower.toFixed(1)}`,
    'p50 <= 8 ms, p99 <= x2.0',
    run.p50Ms <= 8 && slower <= 2,
  )
  await client.end()
}

/**
 * Publishes events of 200 devices at full speed for 6 s, `window` events at a time each: processor time of hub and database per event, and
 * events per second. The client must have connected the devices. Throws unless all acknowledged events are stored.
 */
export async function measureHub(hub: BenchHub, client: LoadClient, window: number): Promise<Figures> {
  await hub.query('checkpoint')
  const events = await countEvents(hub)
  const before = treeProcessorSecs(hub.pid)
  const run = await client.ask<PublishRun>({ publish: { secs: HUB_SECS, devices: BUSY_DEVICES, window } })
  const used = treeProcessorSecs(hub.pid) - before
  await expectStored(hub, events, run)
  return { microsecs: (used / run.acknowledged) * 1e6, perSec: run.acknowledged / run.secs }
}

/** Like `measureHub`, with writes of a property. */
export async function measureProperties(
  hub: BenchHub,
  client: LoadClient,
  kind: PropertyKind,
): Promise<Figures> {
  await hub.query('checkpoint')
  const before = treeProcessorSecs(hub.pid)
  const run = await client.ask<PublishRun>({
    writeProperty: { secs: HUB_SECS, devices: BUSY_DEVICES, ...PROPERTIES[kind] },
  })
  const used = treeProcessorSecs(hub.pid) - before
  return { microsecs: (used / run.acknowledged) * 1e6, perSec: run.acknowledged / run.secs }
}

function reading(celsius: number) {
  return { celsius, sensor: 'inlet', unit: 'degrees Celsius', note: 'x'.repeat(100) }
}

/** An update status as update scripts report it. */
function updateStatus(state: string) {
  return {
    config: { path: 'fleet/pump/stable' },
    state,
    currentVersion: '2.22.0',
    targetVersion: '2.23.0',
    failureCount: 2,
    lastError: 'no space left on device: 120 MiB are free, 512 MiB are needed',
  }
}

/**
 * Checks that the hub stored exactly as many events as it acknowledged. A run ends only when all of its events are acknowledged.
 */
async function expectStored(hub: BenchHub, before: number, run: PublishRun): Promise<void> {
  const stored = (await countEvents(hub)) - before
  if (stored !== run.acknowledged)
    throw new Error(`${run.acknowledged} events were acknowledged, ${stored} are stored`)
}

function us(microsecs: number): string {
  return `${microsecs.toFixed(1)} us of processor time each`
}

function k(perSec: number): string {
  return `${(perSec / 1000).toFixed(1)} k a second`
}
