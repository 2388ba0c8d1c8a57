import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createClient } from '@muster/actions'
import { ask, forked } from './child.ts'
import type { HttpRequest, HttpRun } from './http-client.ts'
import { type BenchHub, requestTo, signIn, startBenchHub } from './hub-process.ts'
import type { PublishRun } from './load-client.ts'
import { maxOpenFiles, memoryKiB, residentKiB } from './processes.ts'
import type { GetsRun } from './stream-client.ts'
import { openProxy } from './tunnel.ts'
import type { DeviceReady } from './tunnel-device.ts'
import { report, reportGoal, startLoadClient } from './yardsticks.ts'

const PARALLEL = 64
/** Number of parts of equal length. The first one is compared with the last one. */
const PARTS = 10
/** Parts, counted from 0, in the middle of which the database is restarted. */
const RESTARTS = [2, 4, 6]
/** Lists of devices and pages of a device that people open, per second each. */
const PAGES_PER_SEC = 10
/** Connections of these people, each kind. */
const PAGE_CONNECTIONS = 4
/** Small web pages of a device, per second. */
const FORWARDS_PER_SEC = 5
/** Share of the duration after which slopes are measured: 10 of 60 minutes. Before, caches fill and code is compiled. */
const WARM_UP_SHARE = 1 / 6
/** Interval of the samples of memory and file descriptors, in milliseconds. */
const SAMPLE_MS = 5_000
/** Tables whose growth is printed, largest first. */
const TABLES = 8

/** Samples of a value: minutes since the start, and the value. */
type Series = [minutes: number, value: number][]
type Figures = { p50Ms: number; p99Ms: number }
/** Latencies of one part of the soak, by load. A load that failed is absent. */
type Part = Map<string, Figures>
type TableSize = { name: string; tableBytes: number; indexBytes: number }

/**
 * Runs a hub under constant load for a long time (docs/goals.md P23): idle devices, events, console users, web pages of a device, and restarts of
 * the database. Prints the slopes of memory, file descriptors, tables and indexes, and the latencies of the first and last tenth. Options:
 * `--minutes` (default 60), `--devices` (10000), `--events` a second (1000).
 */
export async function soak(...options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: {
      minutes: { type: 'string', default: '60' },
      devices: { type: 'string', default: '10000' },
      events: { type: 'string', default: '1000' },
    },
  })
  const [minutes, wanted, eventsPerSec] = [values.minutes, values.devices, values.events].map(Number) as [
    number,
    number,
    number,
  ]
  // Hub and load client each hold a descriptor for each device.
  const devices = Math.min(wanted, maxOpenFiles() - 500)
  // The hub logs errors about its restarted database, which are expected here.
  await using hub = await startBenchHub({ MUSTER_LOG_LEVEL: 'silent' })
  const load = await startLoads(hub, devices)
  report('soak', `${minutes} minutes, ${devices} devices, ${eventsPerSec} events a second`)

  const samples = new Samples(hub)
  const sizesBefore = await tableSizes(hub)
  const parts: Part[] = []
  const errors: string[] = []
  for (let at = 0; at < PARTS; at++) {
    const secs = (minutes * 60) / PARTS
    const restarted = RESTARTS.includes(at) ? restartDatabase(hub, secs * 500) : undefined
    // People and web pages may be refused while the database is away; devices may not.
    const part = await load.run(secs, eventsPerSec, error => {
      if (restarted === undefined || error.startsWith('events')) errors.push(`part ${at + 1}: ${error}`)
      else report('  while the database was away', error)
    })
    await restarted
    parts.push(part)
    const events = part.get('events')
    report(
      `part ${at + 1} of ${PARTS}${restarted ? ', database restarted' : ''}`,
      events ? text(events) : 'failed',
    )
  }
  samples.stop()
  const stored = await tableSizes(hub)
  load.stop()

  for (const error of errors) report('error', error)
  reportGoal('P23', 'errors', String(errors.length), '0', errors.length === 0)
  const from = minutes * WARM_UP_SHARE
  const residentSlope = slope(samples.residentMib, from)
  reportGoal(
    'P23',
    'memory of the hub',
    perMinute(residentSlope, 'MiB'),
    '<= 0.5 MiB a minute',
    residentSlope <= 0.5,
  )
  report('memory of hub and database (PSS)', perMinute(slope(samples.allMib, from), 'MiB'))
  report(
    'file descriptors of the hub',
    `${perMinute(slope(samples.descriptors, from), '')}, ${samples.descriptors.at(-1)?.[1]} at the end`,
  )
  reportGrowth(sizesBefore, stored, minutes)
  for (const name of parts[0]!.keys()) {
    const [first, last] = [parts[0]!.get(name)!, parts.at(-1)!.get(name)]
    const ratio = (last?.p99Ms ?? Number.POSITIVE_INFINITY) / first.p99Ms
    report(`${name}, first and last tenth`, `${text(first)}; ${last ? text(last) : 'failed'}`)
    reportGoal('P23', `${name}, p99 of the last to the first`, ratio.toFixed(2), '<= 1.2', ratio <= 1.2)
  }
}

/** Connects the fleet and starts the clients. `run` applies all loads for some seconds. */
async function startLoads(hub: BenchHub, devices: number) {
  const fleet = startLoadClient()
  await fleet.ask({ connect: { url: hub.url, token: hub.token, count: devices, parallel: PARALLEL } })
  const { child: source, ready: page } = await forked<{ port: number }>('tunnel-peer.ts', 'source')
  const { child: device, ready } = await forked<DeviceReady>('tunnel-device.ts', hub.url, hub.token)
  const viewer = await forked('stream-client.ts')
  const target = await openProxy(hub, ready.deviceId, page.port)
  const lists = await forked('http-client.ts')
  const details = await forked('http-client.ts')
  const cookie = await signIn(hub)
  const invoke = createClient({ baseUrl: hub.url, headers: { cookie, origin: hub.url } })
  const { projects } = await invoke('projects_Query', {})
  const request = (name: string, input: object): HttpRequest =>
    requestTo(hub, `/api/v1/actions/invoke/${name}`, input, cookie)
  const list = request('projects_QueryDevices', { projectId: projects[0]!.projectId, limit: 50 })
  const detail = request('devices_GetDetails', { deviceId: ready.deviceId })
  const webPages = async (secs: number, failed: (error: string) => void): Promise<Figures> => {
    const run = await ask<GetsRun>(viewer.child, {
      gets: { target, path: '/', perSec: FORWARDS_PER_SEC, secs },
    })
    if (run.failures.length > 0) failed(`${run.failures.length} web pages of a device: ${run.failures[0]}`)
    return run
  }
  const children = [source, device, viewer.child, lists.child, details.child]

  return {
    async run(secs: number, eventsPerSec: number, failed: (error: string) => void): Promise<Part> {
      const part: Part = new Map()
      const measure = async (name: string, figures: Promise<Figures>): Promise<void> => {
        try {
          part.set(name, await figures)
        } catch (error) {
          failed(`${name}: ${(error as Error).message}`)
        }
      }
      const pages = async (client: typeof lists, load: HttpRequest): Promise<Figures> => {
        const run = await ask<HttpRun>(client.child, {
          ...load,
          connections: PAGE_CONNECTIONS,
          secs,
          perSec: PAGES_PER_SEC,
        })
        for (const [status, count] of Object.entries(run.statuses))
          if (status !== '200') failed(`${count} answers ${status} to people`)
        return run
      }
      await Promise.all([
        measure('events', fleet.ask<PublishRun>({ schedule: { secs, devices, perSec: eventsPerSec } })),
        measure('device lists', pages(lists, list)),
        measure('device pages', pages(details, detail)),
        measure('web pages', webPages(secs, failed)),
      ])
      return part
    },
    stop(): void {
      for (const child of children) child.disconnect()
      void fleet.end()
    },
  }
}

/** Restarts the database after a pause: its processes get SIGINT, which ends all sessions, and the hub starts it again. */
async function restartDatabase(hub: BenchHub, afterMs: number): Promise<void> {
  await pause(afterMs)
  process.kill(hub.databasePid(), 'SIGINT')
}

/** Samples memory and file descriptors at an interval until stopped. */
class Samples {
  readonly residentMib: Series = []
  readonly allMib: Series = []
  readonly descriptors: Series = []
  readonly #timer: NodeJS.Timeout

  constructor(hub: BenchHub) {
    const started = performance.now()
    this.#timer = setInterval(() => {
      const minutes = (performance.now() - started) / 60_000
      this.residentMib.push([minutes, residentKiB(hub.pid) / 1024])
      this.allMib.push([minutes, memoryKiB(hub.pid).all / 1024])
      this.descriptors.push([minutes, readdirSync(`/proc/${hub.pid}/fd`).length])
    }, SAMPLE_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

/** Slope of the values from a time on by least squares, a minute. */
function slope(series: Series, fromMinutes: number): number {
  const kept = series.filter(([minutes]) => minutes >= fromMinutes)
  const mean = (at: 0 | 1): number => kept.reduce((sum, sample) => sum + sample[at], 0) / kept.length
  const [meanMinutes, meanValue] = [mean(0), mean(1)]
  let covariance = 0
  let variance = 0
  for (const [minutes, value] of kept) {
    covariance += (minutes - meanMinutes) * (value - meanValue)
    variance += (minutes - meanMinutes) ** 2
  }
  return covariance / variance
}

/** Sizes of all tables with their indexes. Partitions are added to their table. */
async function tableSizes(hub: BenchHub): Promise<TableSize[]> {
  const rows = await hub.query(
    `select coalesce(pg_partition_root(c.oid), c.oid)::regclass::text as name,
            sum(pg_table_size(c.oid))::float8 as table_bytes, sum(pg_indexes_size(c.oid))::float8 as index_bytes
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname in ('public', 'pgboss') group by 1`,
  )
  return rows.map(row => ({
    name: String(row.name),
    tableBytes: Number(row.table_bytes),
    indexBytes: Number(row.index_bytes),
  }))
}

function reportGrowth(before: TableSize[], after: TableSize[], minutes: number): void {
  const mib = (bytes: number): string => perMinute(bytes / 1024 ** 2 / minutes, 'MiB')
  const grown = after
    .map(({ name, tableBytes, indexBytes }) => {
      const old = before.find(table => table.name === name)
      return {
        name,
        tableBytes: tableBytes - (old?.tableBytes ?? 0),
        indexBytes: indexBytes - (old?.indexBytes ?? 0),
      }
    })
    .filter(({ tableBytes, indexBytes }) => tableBytes + indexBytes > 0)
    .toSorted((a, b) => b.tableBytes + b.indexBytes - a.tableBytes - a.indexBytes)
  for (const { name, tableBytes, indexBytes } of grown.slice(0, TABLES))
    report(`table ${name}`, `${mib(tableBytes)}, indexes ${mib(indexBytes)}`)
}

function perMinute(value: number, unit: string): string {
  return `${value >= 0 ? '+' : ''}${[value.toFixed(2), unit].join(' ').trim()} a minute`
}

function text({ p50Ms, p99Ms }: Figures): string {
  return `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`
}
