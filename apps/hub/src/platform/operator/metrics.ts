import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type ErrorKind, findAction } from '@muster/actions'
import { VERSION } from '@muster/actions/version'
import type pg from 'pg'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Bus } from '../bus/bus.ts'
import { certificateFacts } from '../cluster/node-facts.ts'
import type { TlsFiles } from '../config/config.ts'
import type { SlowStatements } from '../database/client/slow-statements.ts'
import { HEALTH_PARTS, type Health, type Readiness } from '../database/server/readiness.ts'
import type { Shares } from '../limits/shares.ts'
import type { LiveHub } from '../live/live-hub.ts'
import type { MailWatch } from '../mail/mail-watch.ts'
import { diskSpace } from '../runtime/disk-space.ts'
import type { ForwardCounts, Measures, StoredBatch } from '../runtime/measures.ts'
import { METRICS, type MetricDefinition, type MetricName } from './metric-definitions.ts'

/** Resolution of the measured delays of the event loop, in milliseconds. */
const LOOP_RESOLUTION_MS = 20

/** The parts of the platform whose values are read at each scrape. */
export type MeasuredParts = {
  pool: pg.Pool
  readiness: Readiness
  shares: Shares
  live: LiveHub
  bus: Pick<Bus, 'kind' | 'status'>
  mail: Pick<MailWatch, 'isReachable'>
  slowStatements: SlowStatements
  /** Path of each measured folder, by the value of its label. */
  folders: Record<string, string>
  tls: TlsFiles | undefined
}

type Labels = Record<string, string>

/** Sets a value of a scrape. */
export type Put = (name: MetricName, value: number, labels?: Labels) => void

/** Reads values at each scrape. A value that is unknown is left out. */
export type MetricReader = (put: Put) => void | Promise<void>

/**
 * The metrics of one hub. Counters and histograms are updated by events, all other values are read at the scrape. An unknown value, for
 * example while the hub starts, is absent.
 */
export class Metrics implements Measures, Disposable {
  readonly forwards: ForwardCounts = { open: 0, toDeviceBytes: 0, fromDeviceBytes: 0 }
  readonly #registry = new Registry()
  readonly #actionErrors = this.#counter('muster_action_errors_total')
  readonly #limitHits = this.#counter('muster_limit_hits_total')
  readonly #mails = this.#counter('muster_mails_total')
  readonly #scrapeFailures = this.#counter('muster_scrape_failures_total')
  readonly #actions = this.#histogram('muster_action_seconds')
  readonly #batchRows = this.#histogram('muster_ingest_batch_rows')
  readonly #lag = this.#histogram('muster_ingest_lag_seconds')
  readonly #lookUps = this.#histogram('muster_lookup_seconds')
  readonly #loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  #readers: readonly MetricReader[] = []

  constructor() {
    this.#loop.enable()
  }

  ran(name: string, durationMs: number, error: ErrorKind | undefined): void {
    // Callers choose the name, so the names of unknown actions must not become labels.
    const action = findAction(name)?.name ?? 'unknown'
    this.#actions.observe({ action }, durationMs / 1000)
    if (error !== undefined) this.#actionErrors.inc({ action, kind: error })
  }

  stored({ kind, rows, lagMs }: StoredBatch): void {
    this.#batchRows.observe({ kind }, rows)
    this.#lag.observe({ kind }, lagMs / 1000)
  }

  lookedUp(durationMs: number): void {
    this.#lookUps.observe(durationMs / 1000)
  }

  limitHit(limit: string): void {
    this.#limitHits.inc({ limit })
  }

  mailed(outcome: 'sent' | 'refused' | 'failed'): void {
    this.#mails.inc({ outcome })
  }

  /** Counts a part of the values that could not be read. */
  readonly failed = (part: string): void => this.#scrapeFailures.inc({ part })

  /** Makes scrapes read the values of a running hub from now on, one reader after the other. */
  watch(readers: readonly MetricReader[]): void {
    this.#readers = readers
  }

  /** Stops reading values, because the parts of the hub are about to close. */
  unwatch(): void {
    this.#readers = []
  }

  /** Resolves to the metrics as Prometheus text, within a few seconds also while the database is down. */
  async text(health: Health): Promise<string> {
    // A new registry for the values that are read at the scrape, so that an unknown value is absent and not 0.
    const read = new Registry()
    const put = putterOf(read)
    putHealth(put, health)
    this.#putProcess(put)
    put('muster_forwards_open', this.forwards.open)
    put('muster_forwarded_bytes_total', this.forwards.toDeviceBytes, { direction: 'to_device' })
    put('muster_forwarded_bytes_total', this.forwards.fromDeviceBytes, { direction: 'from_device' })
    for (const reader of this.#readers) await reader(put)
    return `${await this.#registry.metrics()}\n${await read.metrics()}`
  }

  [Symbol.dispose](): void {
    this.#loop.disable()
  }

  #putProcess(put: Put): void {
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    put('process_cpu_seconds_total', (user + system) / 1e6)
    put('process_resident_memory_bytes', rss)
    put('process_start_time_seconds', Date.now() / 1000 - process.uptime())
    put('nodejs_heap_size_used_bytes', heapUsed)
    put('nodejs_heap_size_total_bytes', heapTotal)
    put('nodejs_external_memory_bytes', external)
    for (const percentile of [50, 99, 100]) {
      // The measured interval includes the timer's own interval, which is subtracted. Before the first measurement the percentile is 0.
      const delayMs = this.#loop.percentile(percentile) / 1e6 - LOOP_RESOLUTION_MS
      put('nodejs_eventloop_lag_seconds', Math.max(0, delayMs) / 1000, { percentile: String(percentile) })
    }
    this.#loop.reset()
  }

  #counter(name: MetricName): Counter {
    return new Counter({ ...describe(name), registers: [this.#registry] })
  }

  #histogram(name: MetricName): Histogram {
    const { buckets } = METRICS[name] as MetricDefinition
    return new Histogram({ ...describe(name), buckets: [...buckets!], registers: [this.#registry] })
  }
}

function describe(name: MetricName) {
  const { help, labels = [] } = METRICS[name] as MetricDefinition
  return { name, help, labelNames: [...labels] }
}

/** Returns a function that sets a value in a registry. It creates the metric at the first value. */
function putterOf(registry: Registry): Put {
  return (name, value, labels = {}) => {
    const options = { ...describe(name), registers: [registry] }
    const found = registry.getSingleMetric(name)
    if (METRICS[name].type === 'counter') ((found as Counter) ?? new Counter(options)).inc(labels, value)
    else ((found as Gauge) ?? new Gauge(options)).set(labels, value)
  }
}

function putHealth(put: Put, { state, isReady, reasons }: Health): void {
  put('muster_build_info', 1, { version: VERSION })
  for (const one of ['starting', 'ready', 'degraded', 'draining'])
    put('muster_health', Number(one === state), { state: one })
  put('muster_ready', Number(isReady))
  for (const part of HEALTH_PARTS)
    put('muster_degraded', Number(reasons.some(reason => reason.part === part)), { part })
}

/** Reads the values of the platform. */
export function platformMetrics(parts: MeasuredParts): MetricReader {
  return async put => {
    putNode(put, parts)
    await putDisks(put, parts.folders)
  }
}

function putNode(put: Put, parts: MeasuredParts): void {
  const { pool, readiness, shares, live, bus, mail, slowStatements, tls } = parts
  const { links, http, most } = shares.held()
  put('muster_descriptor_capacity', shares.linkCapacity)
  put('muster_descriptors_held', links)
  put('muster_http_connections', http)
  for (const [scope, count] of Object.entries(most)) put('muster_most_connections', count, { scope })
  put('muster_live_streams', live.subscriberCount)
  put('muster_database_connections', pool.idleCount, { state: 'idle' })
  put('muster_database_connections', pool.totalCount - pool.idleCount, { state: 'busy' })
  put('muster_database_waiting', pool.waitingCount)
  put('muster_slow_statements_total', slowStatements.count)
  put('muster_node_heartbeat_age_seconds', readiness.heartbeatAgeMs / 1000)
  put('muster_bus_connected', Number(bus.status.isConnected), { bus: bus.kind })
  if (mail.isReachable !== undefined) put('muster_mail_server_up', Number(mail.isReachable))
  const { certificates } = certificateFacts(tls)
  for (const { endsAt } of certificates ?? [])
    put('muster_tls_certificate_expiry_timestamp_seconds', Date.parse(endsAt) / 1000)
}

async function putDisks(put: Put, folders: MeasuredParts['folders']): Promise<void> {
  const disks = Object.entries(folders).map(async ([folder, path]) => ({
    folder,
    found: await diskSpace(path).catch(() => undefined),
  }))
  for (const { folder, found } of await Promise.all(disks)) {
    if (!found) continue
    put('muster_disk_free_bytes', found.freeBytes, { folder })
    put('muster_disk_size_bytes', found.totalBytes, { folder })
  }
}
