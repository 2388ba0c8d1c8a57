import { hash } from 'node:crypto'
import { ActionError, type LiveChange, MAX_PROPERTY_VALUE_BYTES } from '@muster/actions'
import { Batcher } from '@muster/concurrency'
import { nameKey } from '@muster/predicates/name-key'
import type pg from 'pg'
import { BATCHED_WRITES } from '../../platform/database/client/batched-writes.ts'
import { isConnectionError } from '../../platform/database/client/errors.ts'
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
  eventColumns,
  eventRow,
  INSERT_NEW_EVENTS,
  insertion,
} from './device-events.ts'
import { isPlainJson, protectedError, summaryOf } from './device-properties.ts'
import { updateTextOf } from './device-updates.ts'

/** `arrivedAtMs` is the arrival time by `performance.now()` if the hub measures its batches, else 0. */
type EventCall = { deviceId: string; rows: EventRow[]; bytes: number; arrivedAtMs: number }
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

/**
 * Writes a batch of properties. All parts of the statement share one snapshot, except that a locked row is read in its newest version.
 * `old` therefore has the value that the write replaces. Rows are locked in the order of device and name, so that two batches cannot
 * deadlock.
 *
 * Two kinds of writes are skipped as `late`, and the caller repeats them in a new statement, which has a new snapshot:
 * - Another transaction inserted the row after the snapshot, so this statement does not see the row and cannot lock it.
 * - Another transaction deleted the row before it could be locked. Only a new snapshot shows the device's `property_version_floor`, which
 *   the deletion raised.
 *
 * `parts` lists the optional parts of the statement. A batch without them has a cheaper statement:
 * - `updates` writes the rows of `device_update`, for a batch with update statuses.
 * - `info` writes the columns `name_key` and `addresses_version` of devices, for a batch with system information.
 * - `addresses` writes the rows of `device_address`, for a batch with system information whose addresses may have changed.
 *
 * The values of each part are a further parameter, from `$10` on.
 *
 * Returns a row for each write that was not stored (late, protected or of an unknown device), that repeats the stored value, or that is
 * system information.
 */
const upsertProperties = (parts: readonly Part[]): string => `
    with input as (
      select i.*, d.device_id is not null as is_known, d.property_version_floor as version_floor${parts.includes('info') ? ', d.addresses_version' : ''}
        from unnest($1::text[], $2::text[], $3::text[], $4::bool[], $5::text[], $6::text[], $7::text[], $9::text[]${parts.map((part, at) => `, $${10 + at}::${PARTS[part].type}[]`).join('')}) with ordinality
          as i (device_id, name, value, is_plain, actor, hostname, health, host_key${parts.map(part => `, ${part}_value`).join('')}, at)
        left join device d using (device_id)
    ), old as (
      select p.device_id, p.name, p.value::text as value, p.version, p.protected
        from input i join device_property p on p.device_id = i.device_id and p.name = i.name
       order by p.device_id, p.name for no key update of p
    ), change as (
      select i.*, old.value as old_value, coalesce(old.version, version_floor) + 1 as version,
             coalesce(old.protected, false) as is_refused, coalesce(seen.is_removed, false) as is_removed
        from input i left join old using (device_id, name) left join lateral (
          select true as is_removed from device_property p
           where old.version is null and p.device_id = i.device_id and p.name = i.name
        ) seen on true
    ), written as (
      insert into device_property (device_id, name, value, value_json, value_bytes, version, last_updated)
      select device_id, name, value::json, case when is_plain then value::jsonb else jsonb_or_null(value) end,
             octet_length(value), version, clock_timestamp()
        from change where is_known and not is_refused and not is_removed order by device_id, name
      on conflict (device_id, name) do update set value = excluded.value, value_json = excluded.value_json,
        value_bytes = excluded.value_bytes, version = excluded.version, last_updated = excluded.last_updated
        where device_property.version = excluded.version - 1
      returning device_id, name
    ), history as (
      insert into device_property_change (device_id, name, version, value, actor, changed_at)
      select device_id, name, version, value::json, actor::jsonb, clock_timestamp()
        from written join change using (device_id, name)
       where old_value is distinct from value and name <> all ($8::text[])
    ), summary as (
      update device d set hostname = coalesce(s.hostname, d.hostname), health = coalesce(s.health, d.health)${parts.includes('info') ? SET_NAME_KEY + SET_ADDRESSES_VERSION : ''}
        from (select device_id, max(hostname) as hostname, max(health) as health${parts.includes('info') ? KEY_OF_DEVICE + INFO_OF_DEVICE : ''}
                from written join change using (device_id, name)
               where hostname is not null or health is not null group by device_id) s
       where d.device_id = s.device_id
    )${parts.map(part => PARTS[part].write).join('')}
    select at::int, w.name is not null as is_written, w.name is null and is_known and not is_refused as is_late${
      parts.includes('info')
        ? `,
           version, ${HAS_ADDRESSES} as has_addresses`
        : ''
    }
      from change left join written w using (device_id, name)
     where w.name is null or old_value is not distinct from value${parts.includes('info') ? ' or info_value is not null' : ''}`

/**
 * Part of the statement that writes `device_update`. Every writer of a row holds the lock of the device's property, and properties are
 * locked in a fixed order. So two batches cannot deadlock on these rows.
 */
const WRITE_UPDATES = `, updates as (
      insert into device_update (device_id, property_version, path, current_version, target_version, state, failure_count, error)
      select device_id, version, u.*
        from written join change using (device_id, name) cross join lateral jsonb_to_record(updates_value::jsonb) as u
             (path text, current_version text, target_version text, state text, failure_count bigint, error text)
       where updates_value is not null
      on conflict (device_id) do update set property_version = excluded.property_version, path = excluded.path,
        current_version = excluded.current_version, target_version = excluded.target_version, state = excluded.state,
        failure_count = excluded.failure_count, error = excluded.error
    )`

/**
 * Part of the statement of `upsertProperties` that writes `device_address`. Agents repeat their system information every 30 min, mostly
 * with the same addresses, so unchanged address rows are only read. The statement does not see address rows that another transaction
 * commits after the statement's snapshot, for example when a person sets the system information at the same time. Such rows remain until
 * the addresses are written again.
 */
const WRITE_ADDRESSES = `, informed as (
      select distinct on (device_id) device_id, project_id, addresses_value
        from written join change using (device_id, name) join device using (device_id)
       where addresses_value is not null order by device_id, at desc
    ), address as (
      select device_id, project_id, n.* from informed cross join lateral jsonb_to_recordset(addresses_value::jsonb)
        as n (address text, is_mac boolean, interface text)
    ), old_addresses as (
      delete from device_address o using informed i
       where o.device_id = i.device_id
         and not exists (select from address n where n.device_id = o.device_id and n.address = o.address)
    ), new_addresses as (
      insert into device_address (device_id, project_id, address, is_mac, interface)
      select device_id, project_id, address, is_mac, interface from address n
       where not exists (select from device_address o where o.device_id = n.device_id and o.address = n.address
                            and o.interface is not distinct from n.interface)
       order by device_id, address
      on conflict (device_id, address) do update set interface = excluded.interface
    )`

/** Makes the key of the name from the host name where the device has no name. A batch may hold both names of the system information. */
const SET_NAME_KEY = `, name_key = case when s.hostname is null or d.name is not null then d.name_key else s.host_key end`
const KEY_OF_DEVICE = `, (array_agg(host_key order by hostname desc nulls last))[1] as host_key`

/**
 * Value of `info` for system information whose addresses the statement writes too. Any other value of `info` is the version of the stored
 * system information. The stored addresses are then the same as the new ones and need not be written.
 */
const WRITES_ADDRESSES = -1

/**
 * Sets `addresses_version` to the version of the written system information if the stored addresses belong to it (`HAS_ADDRESSES`). Sets
 * it to null if another writer has stored system information since this node last wrote the addresses. The caller then repeats the write
 * with the addresses. If it cannot, the job `devices_FillAddresses` writes them.
 */
const SET_ADDRESSES_VERSION = `, addresses_version = case when s.info_version is null then d.addresses_version
                   when s.has_addresses then s.info_version end`
/**
 * Whether the stored addresses are those of the system information that the statement writes. This is so in two cases: the statement
 * writes the addresses too, or no other writer has stored system information since this node last wrote the addresses. System information
 * under either of its two property names counts.
 */
const HAS_ADDRESSES = `(info_value = ${WRITES_ADDRESSES} or info_value = version - 1 and info_value = addresses_version)`
const INFO_OF_DEVICE = `, max(version) filter (where info_value is not null) as info_version,
                     bool_and(${HAS_ADDRESSES}) as has_addresses`

type Part = 'updates' | 'info' | 'addresses'
const PARTS: Record<Part, { type: 'text' | 'bigint'; write: string }> = {
  updates: { type: 'text', write: WRITE_UPDATES },
  info: { type: 'bigint', write: '' },
  addresses: { type: 'text', write: WRITE_ADDRESSES },
}

/** Statements of `upsertProperties`, keyed by the names of their parts. */
const UPSERTS = new Map<string, string>(
  [
    [],
    ['updates'],
    ['info'],
    ['info', 'addresses'],
    ['updates', 'info'],
    ['updates', 'info', 'addresses'],
  ].map(parts => [parts.join('-'), upsertProperties(parts as Part[])]),
)

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

  /**
   * Stores events. An event whose id the device has used before is not stored again. Throws `Invalid` for an event that is too large,
   * and `LimitReached` beyond a budget.
   */
  async publishEvents(device: DeviceCaller, events: DeviceEvent[]): Promise<void> {
    if (events.length === 0) return
    const { deviceId } = device
    const rows = events.map(event => eventRow(deviceId, event))
    const sizes = rows.map(row => row.sizeBytes)
    this.#writeBudgets.take(device, { kind: 'event', sizes })
    const bytes = sizes.reduce((sum, size) => sum + size + ROW_BYTES, 0)
    await this.#events.add({ deviceId, rows, bytes, arrivedAtMs: this.#nowMs() })
    this.changed('events', device)
  }

  /**
   * Sets a property that a device reports about itself. Throws `Forbidden` when the property is protected, `Invalid` when the value is
   * too large, and `LimitReached` beyond a budget.
   */
  async setProperty(caller: DeviceCaller, name: string, text: string): Promise<void> {
    const sizeBytes = checkedSize(text)
    this.#writeBudgets.take(caller, { kind: 'property', sizes: [sizeBytes] })
    const write = {
      deviceId: caller.deviceId,
      name,
      text,
      sizeBytes,
      actor: JSON.stringify(wireActor(caller)),
      isStored: false,
      arrivedAtMs: this.#nowMs(),
    }
    await this.#propertyTotals.storing({ subject: caller, name, sizeBytes }, () =>
      this.#properties.add(write),
    )
    if (!write.isStored) throw protectedError(name)
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
    // Devices with a wrong clock get the more expensive statement to themselves.
    await this.#insertEvents(calls.filter(call => isOdd(call)))
    await this.#insertEvents(calls.filter(call => !isOdd(call)))
    // The items of a batch are in the order of their arrival.
    const { arrivedAtMs } = calls[0]!
    const rowCount = calls.reduce((sum, { rows }) => sum + rows.length, 0)
    this.#measures?.stored({ kind: 'events', rows: rowCount, lagMs: performance.now() - arrivedAtMs })
  }

  /** Stores the events of some calls. The events of a call share a statement, so that all of them are stored or none. */
  async #insertEvents(calls: EventCall[]): Promise<void> {
    if (calls.length === 0) return
    const rows = calls.flatMap(call => call.rows)
    const columns = eventColumns(rows)
    if (performance.now() >= this.#resendsUntilMs && !rows.some(row => row.isOdd)) {
      try {
        await this.#pool.query(INSERT_NEW_EVENTS, columns)
        this.#countEvents(calls)
        return
      } catch (error) {
        // The usual reason is a repeated event. The code of the error is not checked, because an engine with rows on several servers
        // reports another one (docs/scaling.md). A failure with a different reason fails again below.
        if (isConnectionError(error)) throw error
        this.#resendsUntilMs = performance.now() + RESENDS_MS
      }
    }
    const { rowCount } = await this.#pool.query(insertion(rows, columns))
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
   * Writes at most one value per property. Returns the late writes: writes of a property that another transaction created or
   * removed while the statement ran, and system information whose addresses another transaction changed. The caller repeats the late
   * writes before later writes of the property.
   */
  async #upsertProperties(round: Map<string, PropertyWrite>): Promise<PropertyWrite[]> {
    const rows = [...round.values()]
    const summaries = rows.map(row => summaryOf(row.name, row.text))
    const reported = rows.map(row => this.#reportedAddresses(row))
    const values = {
      updates: rows.map(row => updateTextOf(row.name, row.text)),
      info: reported.map(addresses => addresses && (addresses.knownVersion ?? WRITES_ADDRESSES)),
      addresses: rows.map((row, at) =>
        reported[at] && reported[at].knownVersion === undefined ? addressTextOf(row.name, row.text) : null,
      ),
    }
    const parts = (['updates', 'info', 'addresses'] as const).filter(part =>
      values[part].some(value => value !== null),
    )
    const statement = {
      text: UPSERTS.get(parts.join('-'))!,
      ...(rows.length <= MAX_PLANNED_ROWS && { name: ['ingest-properties', ...parts].join('-') }),
    }
    const { rows: outcomes } = await this.#pool.query<Outcome>(statement, [
      rows.map(row => row.deviceId),
      rows.map(row => row.name),
      rows.map(row => row.text),
      rows.map(row => isPlainJson(row.text)),
      rows.map(row => row.actor),
      summaries.map(summary => summary.hostname),
      summaries.map(summary => summary.health),
      SYSTEM_INFO,
      summaries.map(({ hostname }) => (hostname === null ? null : nameKey(hostname))),
      ...parts.map(part => values[part]),
    ])
    const changed = new Set(rows)
    const late: PropertyWrite[] = []
    for (const row of rows) row.isStored = true
    for (const { at, is_written, is_late, version = 0, has_addresses } of outcomes) {
      const write = rows[at - 1]!
      const addresses = reported[at - 1]
      changed.delete(write)
      write.isStored = is_written
      const isOutdated = addresses && is_written && !has_addresses
      if (is_late || isOutdated) late.push(write)
      if (isOutdated) this.#storedAddresses.delete(write.deviceId)
      else if (addresses && is_written) this.#rememberAddresses(write.deviceId, addresses.digest, version)
    }
    for (const { deviceId, name, sizeBytes } of changed)
      if (!SYSTEM_INFO.includes(name)) this.#storedBytes.add(deviceId, 'changeBytes', sizeBytes + ROW_BYTES)
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

/** Result row of `upsertProperties`. `at` is the position of a write in the batch, from 1. */
type Outcome = {
  at: number
  is_written: boolean
  is_late: boolean
  /** Version and state of the addresses, for statements with `info`. */
  version?: number
  has_addresses?: boolean | null
}

/**
 * Networks in a system information. `knownVersion` is the version of the stored system information if it has the same networks. If
 * undefined, the addresses have to be written.
 */
type ReportedAddresses = { digest: string; knownVersion: number | undefined }

/** Maximum number of devices whose stored networks are remembered. */
const MAX_REMEMBERED = 100_000

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
