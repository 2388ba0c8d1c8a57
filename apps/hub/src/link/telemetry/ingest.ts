import { hash } from 'node:crypto'
import { ActionError, type LiveChange, MAX_PROPERTY_VALUE_BYTES } from '@muster/actions'
import { Batcher, type Settled } from '@muster/concurrency'
import { nameKey } from '@muster/predicates/name-key'
import type pg from 'pg'
import { BATCHED_WRITES } from '../../platform/database/client/batched-writes.ts'
import { binaryArray } from '../../platform/database/client/binary-array.ts'
import { isConnectionError } from '../../platform/database/client/errors.ts'
import { inTransaction } from '../../platform/database/client/transaction.ts'
import type { DiskSpace } from '../../platform/database/server/disk-space.ts'
import type { PropertyTotals } from '../../platform/limits/property-totals.ts'
import type { StoredBytes } from '../../platform/limits/stored-bytes.ts'
import { ROW_BYTES, type WriteBudgets } from '../../platform/limits/write-budgets.ts'
import type { LiveHub } from '../../platform/live/live-hub.ts'
import { type DeviceCaller, wireActor } from '../../platform/pipeline/caller.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import type { Measures } from '../../platform/runtime/measures.ts'
import { addressTextOf, networksTextOf, SYSTEM_INFO } from './device-addresses.ts'
import {
  type DeviceEvent,
  type EventRow,
  EXPORT_NEW_EVENTS,
  eventColumns,
  eventRow,
  INSERT_NEW_EVENTS,
  insertion,
} from './device-events.ts'
import { isPlainJson, isShownInLists, protectedError, summaryOf } from './device-properties.ts'
import { updateTextOf } from './device-updates.ts'
import { WRITE_HISTORY, WRITE_SUMMARIES, WRITE_UPDATES, WRITE_VALUES } from './property-statements.ts'

/** `arrivedAtMs` is the arrival time by `performance.now()` if the hub measures its batches, else 0. */
type EventCall = { deviceId: string; projectId: string; rows: EventRow[]; bytes: number; arrivedAtMs: number }
type PropertyWrite = {
  deviceId: string
  name: string
  text: string
  sizeBytes: number
  actor: string
  isStored: boolean
  arrivedAtMs: number
}

type IngestOptions = {
  pool: pg.Pool
  live: LiveHub
  log: Logger
  writeBudgets: WriteBudgets
  propertyTotals: PropertyTotals
  storedBytes: StoredBytes
  diskSpace: DiskSpace
  measures?: Measures | undefined
}

/** Largest batch that uses a prepared statement. A plan cached for few rows uses nested loops, which are slow for thousands of rows. */
const MAX_PLANNED_ROWS = 32

/**
 * Minimum time between the starts of two batches, in milliseconds. Telemetry that arrives in this time shares a batch. The added delay is
 * small, because storing a batch takes longer than this time.
 */
const LINGER_MS = 4

/**
 * Time after a repeated event during which more repeated events are expected, in milliseconds. Devices repeat events after lost
 * connections, all at once. The plain insert of a batch with a repeated event fails, so batches use `on conflict` during that time.
 */
const RESENDS_MS = 10_000

declare module '../../platform/pipeline/services.ts' {
  interface Services {
    ingest: Ingest
  }
}

/**
 * Stores the properties and events that devices report. Batches them across devices, and acknowledges them after the commit.
 */
export class Ingest {
  readonly #pool: pg.Pool
  readonly #live: LiveHub
  readonly #writeBudgets: WriteBudgets
  readonly #propertyTotals: PropertyTotals
  readonly #storedBytes: StoredBytes
  readonly #measures: Measures | undefined
  readonly #events: Batcher<EventCall>
  readonly #properties: Batcher<PropertyWrite>
  #resendsUntilMs = 0
  #eventCount = 0
  #exportedProjects: ReadonlySet<string> = new Set()
  /** Digest of the networks in the latest stored system information, and its version, by device. The least recently used entry is first. */
  readonly #storedAddresses = new Map<string, { digest: string; version: number }>()

  constructor({ pool, live, log, measures, diskSpace, ...budgets }: IngestOptions) {
    const { writeBudgets, propertyTotals, storedBytes } = budgets
    this.#pool = pool
    this.#measures = measures
    this.#live = live
    this.#writeBudgets = writeBudgets
    this.#propertyTotals = propertyTotals
    this.#storedBytes = storedBytes
    const limits = {
      ...BATCHED_WRITES,
      maxBatch: 1024 * 1024,
      maxWaiting: 64 * 1024 * 1024,
      maxWaitingPerOwner: 8 * 1024 * 1024,
      lingerMs: LINGER_MS,
      retryForMs: 30_000,
      // The devices get the error too. It is logged because operators do not see the errors of devices.
      onGivenUp: (error: unknown) => {
        if (isConnectionError(error)) log.error({ err: error }, 'telemetry of devices could not be stored')
      },
    }
    const noted = (error: unknown): never => {
      diskSpace.note(error)
      throw error
    }
    this.#events = new Batcher({
      ...limits,
      parallel: 2,
      ownerOf: call => call.deviceId,
      weigh: call => call.bytes,
      write: calls => this.#writeEvents(calls).catch(noted),
    })
    // Writes only one batch at a time, so that writes of one property cannot overtake each other.
    this.#properties = new Batcher({
      ...limits,
      parallel: 1,
      ownerOf: write => write.deviceId,
      weigh: write => write.sizeBytes + ROW_BYTES,
      write: writes => this.#writeProperties(writes).catch(noted),
    })
  }

  /** Stores events as `storeEvents` does. Throws `Invalid` for an event that is too large, and the errors of `storeEvents`. */
  async publishEvents(device: DeviceCaller, events: DeviceEvent[]): Promise<void> {
    if (events.length === 0) return
    const rows = events.map(event => eventRow(device.deviceId, event))
    await settled(done => this.storeEvents(device, rows, done))
  }

  /**
   * Stores events, except those whose id the device has used before. Throws `LimitReached` beyond a budget. Otherwise calls `done` when the
   * events are durable or could not be stored.
   */
  storeEvents(device: DeviceCaller, rows: EventRow[], done: Settled): void {
    const sizes = rows.map(row => row.sizeBytes)
    this.#writeBudgets.take(device, { kind: 'event', sizes })
    const bytes = sizes.reduce((sum, size) => sum + size + ROW_BYTES, 0)
    const { deviceId, projectId } = device
    const call = { deviceId, projectId, rows, bytes, arrivedAtMs: this.#nowMs() }
    this.#events.addThen(call, error => {
      if (error === undefined) this.changed('events', device)
      done(error)
    })
  }

  /**
   * Sets a property that a device reports about itself. Throws `Forbidden` when the property is protected, `Invalid` when the value is
   * too large, and `LimitReached` beyond a budget.
   */
  async setProperty(caller: DeviceCaller, name: string, text: string): Promise<void> {
    const sizeBytes = checkedSize(text)
    this.#writeBudgets.take(caller, { kind: 'property', sizes: [sizeBytes] })
    await this.#propertyTotals.storing({ subject: caller, name, sizeBytes }, () =>
      settled(done => this.#storeProperty(caller, { name, text, sizeBytes }, done)),
    )
  }

  /**
   * Like `setProperty`, with a callback. Returns false, and does nothing, if the totals of the device have to be read first. Throws the
   * errors of `setProperty` that are known before the value is stored.
   */
  setPropertyThen(caller: DeviceCaller, name: string, text: string, done: Settled): boolean {
    const sizeBytes = checkedSize(text)
    const write = { subject: caller, name, sizeBytes }
    if (!this.#propertyTotals.hasRoom(write)) return false
    this.#writeBudgets.take(caller, { kind: 'property', sizes: [sizeBytes] })
    this.#propertyTotals.takeRoom(write)
    this.#storeProperty(caller, { name, text, sizeBytes }, done)
    return true
  }

  #storeProperty(
    caller: DeviceCaller,
    { name, text, sizeBytes }: { name: string; text: string; sizeBytes: number },
    done: Settled,
  ): void {
    const write = {
      deviceId: caller.deviceId,
      name,
      text,
      sizeBytes,
      actor: JSON.stringify(wireActor(caller)),
      isStored: false,
      arrivedAtMs: this.#nowMs(),
    }
    this.#properties.addThen(write, error => {
      if (error === undefined && write.isStored) this.#propertyStored(caller, name, text)
      else error ??= protectedError(name)
      done(error)
    })
  }

  /** Notifies open consoles of a stored property, and of what device lists show of it. */
  #propertyStored(caller: DeviceCaller, name: string, text: string): void {
    this.changed('properties', caller)
    const { hostname, health } = summaryOf(name, text)
    const { organizationId, projectId, deviceId } = caller
    const change = { topic: 'devices', organizationId, projectId, deviceId } as const
    if (hostname !== null) this.#live.reported(change, 'hostname', hostname)
    if (health !== null) this.#live.reported(change, 'health', health)
    const update = updateTextOf(name, text)
    // `LiveHub` keeps the last reported value of many devices, so it gets a digest instead of the long text.
    if (update !== null) this.#live.reported(change, 'update', hash('sha256', update, 'base64'))
  }

  /** From now on keeps the keys of new events of these projects, and of no others, for the export (`event_export`). */
  exportEventsOf(projectIds: ReadonlySet<string>): void {
    this.#exportedProjects = projectIds
  }

  /** Whether the keys of new events of a project are kept for its export. */
  exportsEventsOf(projectId: string): boolean {
    return this.#exportedProjects.has(projectId)
  }

  /** Number of events that this node has stored since its start. */
  get eventCount(): number {
    return this.#eventCount
  }

  /** Size of the telemetry that waits to be written in a batch, in bytes. */
  get waitingBytes(): number {
    return this.#events.waitingWeight + this.#properties.waitingWeight
  }

  /** Notifies open consoles that telemetry of a device changed. */
  changed(topic: LiveChange['topic'], { organizationId, projectId, deviceId }: DeviceCaller): void {
    this.#live.changed({ topic, organizationId, projectId, deviceId })
  }

  /** Arrival time of a call if batches are measured, else 0. */
  #nowMs(): number {
    return this.#measures ? performance.now() : 0
  }

  async #writeEvents(calls: EventCall[]): Promise<void> {
    const isOdd = ({ rows }: EventCall): boolean => rows.some(row => row.isOdd)
    const isExported = ({ projectId }: EventCall): boolean => this.#exportedProjects.has(projectId)
    const exported = this.#exportedProjects.size === 0 ? [] : calls.filter(isExported)
    const others = exported.length === 0 ? calls : calls.filter(call => !isExported(call))
    // Devices with a wrong clock, and those whose events are exported, get the more expensive statements to themselves.
    for (const some of [others, exported]) {
      await this.#insertEvents(
        some.filter(call => isOdd(call)),
        some === exported,
      )
      await this.#insertEvents(
        some.filter(call => !isOdd(call)),
        some === exported,
      )
    }
    // The items of a batch are in the order of their arrival.
    const { arrivedAtMs } = calls[0]!
    const rowCount = calls.reduce((sum, { rows }) => sum + rows.length, 0)
    this.#measures?.stored({ kind: 'events', rows: rowCount, lagMs: performance.now() - arrivedAtMs })
  }

  /** Stores the events of some calls. The events of a call share a statement, so that all of them are stored or none. */
  async #insertEvents(calls: EventCall[], isExported: boolean): Promise<void> {
    if (calls.length === 0) return
    const rows = calls.flatMap(call => call.rows)
    const columns = eventColumns(rows)
    if (performance.now() >= this.#resendsUntilMs && !rows.some(row => row.isOdd)) {
      try {
        await this.#pool.query(isExported ? EXPORT_NEW_EVENTS : INSERT_NEW_EVENTS, columns)
        this.#countEvents(calls)
        return
      } catch (error) {
        // The usual reason is a repeated event. The code of the error is not checked, because an engine with rows on several servers
        // reports another one (docs/scaling.md). A failure with a different reason fails again below.
        if (isConnectionError(error)) throw error
        this.#resendsUntilMs = performance.now() + RESENDS_MS
      }
    }
    const { rowCount } = await this.#pool.query(insertion(rows, isExported, columns))
    // The count includes repeated events, which are not stored again. A query for the exact count is not worthwhile, because the job
    // that enforces the limit measures the stored bytes.
    if (rowCount) this.#countEvents(calls)
  }

  #countEvents(calls: EventCall[]): void {
    for (const { deviceId, bytes, rows } of calls) {
      this.#storedBytes.add(deviceId, 'eventBytes', bytes)
      this.#eventCount += rows.length
    }
  }

  async #writeProperties(writes: PropertyWrite[]): Promise<void> {
    // A statement can update a row only once, so further writes of the same property wait for the next statement. After a lost
    // connection the batch is written again without the writes already stored, because repeating a stored write would overwrite
    // later values.
    let rest = writes.filter(write => !write.isStored)
    while (rest.length > 0) {
      const round = new Map<string, PropertyWrite>()
      const later: PropertyWrite[] = []
      for (const write of rest) {
        const key = keyOf(write.deviceId, write.name)
        if (round.has(key)) later.push(write)
        else round.set(key, write)
      }
      rest = [...(await this.#upsertProperties(round)), ...later]
    }
    const { arrivedAtMs } = writes[0]!
    this.#measures?.stored({
      kind: 'properties',
      rows: writes.length,
      lagMs: performance.now() - arrivedAtMs,
    })
  }

  /**
   * Writes at most one value per property, and all that is derived from the values. Returns the late writes: writes of a property that
   * another transaction created or removed while the statement ran, and system information whose addresses another transaction changed. The
   * caller repeats the late writes before later writes of the property.
   */
  async #upsertProperties(round: Map<string, PropertyWrite>): Promise<PropertyWrite[]> {
    const rows = [...round.values()]
    const reported = rows.map(row => this.#reportedAddresses(row))
    const outcomes = await inTransaction(this.#pool, async client => {
      const { rows: found } = await client.query<Outcome>(
        planned(WRITE_VALUES, 'ingest-values', rows.length),
        [
          texts(rows, row => row.deviceId),
          texts(rows, row => row.name),
          texts(rows, row => row.text),
          rows.map(row => isPlainJson(row.text)),
        ],
      )
      const all = found.map(outcome => storedOf(outcome, rows[outcome.at - 1]!, reported[outcome.at - 1]!))
      await writeDerived(
        client,
        all.filter(({ isWritten }) => isWritten),
      )
      return all
    })
    const late: PropertyWrite[] = []
    for (const { write, reported: addresses, version, hasAddresses, ...outcome } of outcomes) {
      write.isStored = outcome.isWritten
      const isOutdated = outcome.isWritten && hasAddresses === false
      if (outcome.isLate || isOutdated) late.push(write)
      if (isOutdated) this.#storedAddresses.delete(write.deviceId)
      else if (addresses && outcome.isWritten)
        this.#rememberAddresses(write.deviceId, addresses.digest, version)
      if (outcome.isWritten && outcome.hasHistory)
        this.#storedBytes.add(write.deviceId, 'changeBytes', write.sizeBytes + ROW_BYTES)
    }
    return late
  }

  /**
   * Digest of the networks in a written system information, or null for other properties. Agents repeat the same networks every 30 min; the
   * digest shows whether the addresses have to be written again.
   */
  #reportedAddresses({ deviceId, name, text }: PropertyWrite): ReportedAddresses | null {
    if (!SYSTEM_INFO.includes(name)) return null
    const digest = hash('sha1', `${name} ${networksTextOf(text)}`, 'base64')
    const stored = this.#storedAddresses.get(deviceId)
    return { digest, knownVersion: stored?.digest === digest ? stored.version : undefined }
  }

  /** Remembers the networks of a stored system information. */
  #rememberAddresses(deviceId: string, digest: string, version: number): void {
    this.#storedAddresses.delete(deviceId)
    this.#storedAddresses.set(deviceId, { digest, version })
    const [oldest] = this.#storedAddresses.keys()
    if (this.#storedAddresses.size > MAX_REMEMBERED && oldest !== undefined)
      this.#storedAddresses.delete(oldest)
  }
}

/** Result row of `WRITE_VALUES`. `at` is the position of a write in the batch, from 1. */
type Outcome = {
  at: number
  is_written: boolean
  is_late: boolean
  is_changed: boolean
  version: number
  addresses_version: number | null
}

/** A write of a property with its outcome. */
type Stored = {
  write: PropertyWrite
  reported: ReportedAddresses | null
  version: number
  isWritten: boolean
  isLate: boolean
  hasHistory: boolean
  /** Whether the stored addresses are those of the written system information; null for other properties. */
  hasAddresses: boolean | null
}

/**
 * The addresses of a device are those of the system information that a batch writes in two cases: the batch writes the addresses too, or no
 * other writer has stored system information since this node last wrote the addresses. System information under either of its two property
 * names counts. Agents repeat their system information every 30 min, so it has no history.
 */
function storedOf(outcome: Outcome, write: PropertyWrite, reported: ReportedAddresses | null): Stored {
  const { version, addresses_version: addressesVersion } = outcome
  const known = reported?.knownVersion
  return {
    write,
    reported,
    version,
    isWritten: outcome.is_written,
    isLate: outcome.is_late,
    hasHistory: outcome.is_changed && reported === null,
    hasAddresses: reported && (known === undefined || (known === version - 1 && known === addressesVersion)),
  }
}

/** Writes history, update statuses and summaries of stored values, each only if the batch has such. */
async function writeDerived(client: pg.PoolClient, stored: Stored[]): Promise<void> {
  const changed = stored.filter(({ hasHistory }) => hasHistory)
  if (changed.length > 0)
    await client.query(planned(WRITE_HISTORY, 'ingest-history', changed.length), [
      texts(changed, ({ write }) => write.deviceId),
      texts(changed, ({ write }) => write.name),
      changed.map(({ version }) => version),
      texts(changed, ({ write }) => write.text),
      texts(changed, ({ write }) => write.actor),
    ])
  const shown = stored
    .filter(({ write }) => isShownInLists(write.name))
    .map(row => ({ ...row, update: updateTextOf(row.write.name, row.write.text) }))
  const updates = shown.filter(({ update }) => update !== null)
  if (updates.length > 0)
    await client.query(planned(WRITE_UPDATES, 'ingest-updates', updates.length), [
      texts(updates, ({ write }) => write.deviceId),
      updates.map(({ version }) => version),
      texts(updates, ({ update }) => update),
    ])
  const summaries = shown
    .filter(({ update }) => update === null)
    .map(row => ({ ...row, ...summaryOf(row.write.name, row.write.text) }))
  if (summaries.length > 0)
    await client.query(planned(WRITE_SUMMARIES, 'ingest-summaries', summaries.length), [
      texts(summaries, ({ write }) => write.deviceId),
      texts(summaries, ({ hostname }) => hostname),
      texts(summaries, ({ hostname }) => (hostname === null ? null : nameKey(hostname))),
      texts(summaries, ({ health }) => health),
      summaries.map(({ reported, version }) => reported && version),
      texts(summaries, ({ reported, write }) =>
        reported && reported.knownVersion === undefined ? addressTextOf(write.name, write.text) : null,
      ),
      summaries.map(({ hasAddresses }) => hasAddresses),
    ])
}

/** Array of texts of a batch, as a parameter in binary form. */
function texts<Row>(rows: readonly Row[], of: (row: Row) => string | null): Buffer {
  return binaryArray('text', rows.map(of))
}

/** A statement for a batch of this size: small batches share a plan of their own. */
function planned(text: string, name: string, rowCount: number): { text: string; name?: string } {
  return { text, ...(rowCount <= MAX_PLANNED_ROWS && { name }) }
}

/**
 * Networks in a system information. `knownVersion` is the version of the stored system information if it has the same networks. If
 * undefined, the addresses have to be written.
 */
type ReportedAddresses = { digest: string; knownVersion: number | undefined }

/** Maximum number of devices whose stored networks are remembered. */
const MAX_REMEMBERED = 100_000

/** Promise of work that calls back. */
function settled(start: (done: Settled) => void): Promise<void> {
  return new Promise((done, failed) => start(error => (error === undefined ? done() : failed(error))))
}

function keyOf(deviceId: string, name: string): string {
  return `${deviceId} ${name}`
}

/** Returns the size of a property value's JSON text in bytes. Throws `Invalid` when it is too large. */
export function checkedSize(text: string): number {
  const sizeBytes = Buffer.byteLength(text)
  if (sizeBytes > MAX_PROPERTY_VALUE_BYTES) {
    throw new ActionError(
      'Invalid',
      `The value has ${sizeBytes} bytes; at most ${MAX_PROPERTY_VALUE_BYTES} are stored.`,
    )
  }
  return sizeBytes
}
