import { ActionError, type LiveChange, MAX_PROPERTY_VALUE_BYTES } from '@muster/actions'
import type pg from 'pg'
import type { Caller } from '../caller.ts'
import { wireActor } from '../caller.ts'
import { isUniqueViolation } from '../database/connection.ts'
import {
  type DeviceEvent,
  type EventRow,
  eventColumns,
  eventRow,
  hasLate,
  INSERT_NEW_EVENTS,
  insertion,
} from '../database/device-events.ts'
import { isPlainJson, protectedError, SYSTEM_INFO, summaryOf } from '../database/device-properties.ts'
import type { LiveHub } from '../live/live-hub.ts'
import { Batcher } from './batcher.ts'

type DeviceCaller = Caller & { actor: 'Device' }
type EventCall = { deviceId: string; rows: EventRow[] }
type PropertyWrite = { deviceId: string; name: string; text: string; actor: string; isStored: boolean }

// All parts see the rows as they were before the statement, so "old" is the value that the change replaces.
const UPSERT_PROPERTIES = `
    with input as (
      select i.* from unnest($1::text[], $2::text[], $3::text[], $4::bool[], $5::text[], $6::text[], $7::text[])
        as i (device_id, name, value, is_plain, actor, hostname, health)
        join device using (device_id)
    ), old as (
      select p.device_id, p.name, p.value::text as value from device_property p join input using (device_id, name)
    ), written as (
      insert into device_property (device_id, name, value, value_json)
      select device_id, name, value::json, case when is_plain then value::jsonb else jsonb_or_null(value) end from input
      on conflict (device_id, name) do update set value = excluded.value, value_json = excluded.value_json,
        version = device_property.version + 1, last_updated = now()
        where not device_property.protected
      returning device_id, name, version
    ), history as (
      insert into device_property_change (device_id, name, version, value, actor)
      select device_id, name, w.version, i.value::json, i.actor::jsonb
        from written w join input i using (device_id, name) left join old using (device_id, name)
       where old.value is distinct from i.value and name <> all ($8::text[])
    ), summary as (
      update device d set hostname = coalesce(s.hostname, d.hostname), health = coalesce(s.health, d.health)
        from (select device_id, max(hostname) as hostname, max(health) as health
                from written join input using (device_id, name)
               where hostname is not null or health is not null group by device_id) s
       where d.device_id = s.device_id
    )
    select device_id, name from written`

/** Properties in a statement up to which its plan is kept; one for few rows compares each of thousands with each. */
const MAX_PLANNED_ROWS = 32

/** How long telemetry waits for more of it, in milliseconds; less than the time that storing it takes. */
const LINGER_MS = 4

/**
 * For how long after an event came that a device had sent before others are expected to, in milliseconds: devices do so after they
 * lost their connection, all at once, and a batch with one of them is written twice.
 */
const RESENDS_MS = 10_000

/** What devices send all day: gathered across devices, durable before it is acknowledged. */
export class Ingest {
  readonly #pool: pg.Pool
  readonly #live: LiveHub
  readonly #events: Batcher<EventCall>
  readonly #properties: Batcher<PropertyWrite>
  #resendsUntilMs = 0

  constructor(pool: pg.Pool, live: LiveHub) {
    this.#pool = pool
    this.#live = live
    const limits = {
      maxBatch: 1024 * 1024,
      maxWaiting: 64 * 1024 * 1024,
      maxWaitingEach: 8 * 1024 * 1024,
      lingerMs: LINGER_MS,
      retryForMs: 30_000,
    }
    this.#events = new Batcher({
      ...limits,
      parallel: 2,
      ownerOf: call => call.deviceId,
      weigh: call => call.rows.reduce((sum, row) => sum + row.body.length + row.attributes.length + 200, 0),
      write: calls => this.#writeEvents(calls),
    })
    // One at a time: writes of one property must not overtake each other.
    this.#properties = new Batcher({
      ...limits,
      parallel: 1,
      ownerOf: write => write.deviceId,
      weigh: write => write.text.length + 200,
      write: writes => this.#writeProperties(writes),
    })
  }

  /** Stores events; one whose id is known of this device is not stored again. Throws `Invalid` for one that is too large. */
  async publishEvents(device: { deviceId: string } & Place, events: DeviceEvent[]): Promise<void> {
    if (events.length === 0) return
    const { deviceId } = device
    await this.#events.add({ deviceId, rows: events.map(event => eventRow(deviceId, event)) })
    this.changed('events', device)
  }

  /** Sets a property by the device itself. Throws `Forbidden` when it is protected, `Invalid` when the value is too large. */
  async setProperty(caller: DeviceCaller, name: string, text: string): Promise<void> {
    checkValueSize(text)
    const write = {
      deviceId: caller.deviceId,
      name,
      text,
      actor: JSON.stringify(wireActor(caller)),
      isStored: false,
    }
    await this.#properties.add(write)
    if (!write.isStored) throw protectedError(name)
    this.changed('properties', caller)
    const { hostname, health } = summaryOf(name, text)
    if (hostname !== null || health !== null) this.changed('devices', caller)
  }

  /** Tells open consoles that telemetry of a device changed. */
  changed(
    topic: LiveChange['topic'],
    { organizationId, projectId, deviceId }: Place & { deviceId: string },
  ): void {
    this.#live.changed({ topic, organizationId, projectId, deviceId })
  }

  async #writeEvents(calls: EventCall[]): Promise<void> {
    const rows = calls.flatMap(call => call.rows)
    const columns = eventColumns(rows)
    if (performance.now() >= this.#resendsUntilMs && !hasLate(rows)) {
      try {
        await this.#pool.query(INSERT_NEW_EVENTS, columns)
        return
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
        this.#resendsUntilMs = performance.now() + RESENDS_MS
      }
    }
    await this.#pool.query(insertion(rows, columns))
  }

  async #writeProperties(writes: PropertyWrite[]): Promise<void> {
    // A statement can touch a row once: of several writes of one property each but the first waits for the next statement.
    let rest = writes
    while (rest.length > 0) {
      const round = new Map<string, PropertyWrite>()
      const later: PropertyWrite[] = []
      for (const write of rest) {
        const key = `${write.deviceId} ${write.name}`
        if (round.has(key)) later.push(write)
        else round.set(key, write)
      }
      await this.#upsertProperties(round)
      rest = later
    }
  }

  async #upsertProperties(round: Map<string, PropertyWrite>): Promise<void> {
    const rows = [...round.values()]
    const summaries = rows.map(row => summaryOf(row.name, row.text))
    const statement = {
      text: UPSERT_PROPERTIES,
      ...(rows.length <= MAX_PLANNED_ROWS && { name: 'ingest-properties' }),
    }
    const { rows: written } = await this.#pool.query<{ device_id: string; name: string }>(statement, [
      rows.map(row => row.deviceId),
      rows.map(row => row.name),
      rows.map(row => row.text),
      rows.map(row => isPlainJson(row.text)),
      rows.map(row => row.actor),
      summaries.map(summary => summary.hostname),
      summaries.map(summary => summary.health),
      SYSTEM_INFO,
    ])
    for (const { device_id, name } of written) round.get(`${device_id} ${name}`)!.isStored = true
  }
}

type Place = { organizationId: string; projectId: string }

/** Refuses the JSON text of a property value that is too large. */
export function checkValueSize(text: string): void {
  const sizeBytes = Buffer.byteLength(text)
  if (sizeBytes > MAX_PROPERTY_VALUE_BYTES) {
    throw new ActionError(
      'Invalid',
      `The value has ${sizeBytes} bytes; at most ${MAX_PROPERTY_VALUE_BYTES} are stored.`,
    )
  }
}
