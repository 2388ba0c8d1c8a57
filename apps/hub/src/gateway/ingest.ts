import { ActionError, type LiveChange, MAX_PROPERTY_VALUE_BYTES } from '@muster/actions'
import type pg from 'pg'
import { type DeviceCaller, wireActor } from '../caller.ts'
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
import type { Logger } from '../log.ts'
import { Batcher } from './batcher.ts'

type EventCall = { deviceId: string; rows: EventRow[] }
type PropertyWrite = { deviceId: string; name: string; text: string; actor: string; isStored: boolean }

/**
 * All parts see the rows as they were before the statement, but a locked row as it is once its lock is got: "old" is the value that
 * the change replaces. Locks are taken in one order, lest two batches wait for each other. Who finds a row that was not there to
 * lock leaves it to the next statement, which sees what it replaces. Answers those that were not written.
 */
const UPSERT_PROPERTIES = `
    with input as (
      select i.*, d.device_id is not null as is_known
        from unnest($1::text[], $2::text[], $3::text[], $4::bool[], $5::text[], $6::text[], $7::text[])
          as i (device_id, name, value, is_plain, actor, hostname, health)
        left join device d using (device_id)
    ), old as (
      select p.device_id, p.name, p.value::text as value, p.version, p.protected
        from input i join device_property p on p.device_id = i.device_id and p.name = i.name
       order by p.device_id, p.name for no key update of p
    ), change as (
      select i.*, old.value as old_value, coalesce(old.version, 0) + 1 as version, coalesce(old.protected, false) as is_refused
        from input i left join old using (device_id, name)
    ), written as (
      insert into device_property (device_id, name, value, value_json, version, last_updated)
      select device_id, name, value::json, case when is_plain then value::jsonb else jsonb_or_null(value) end,
             version, clock_timestamp()
        from change where is_known and not is_refused order by device_id, name
      on conflict (device_id, name) do update set value = excluded.value, value_json = excluded.value_json,
        version = excluded.version, last_updated = excluded.last_updated
        where device_property.version = excluded.version - 1
      returning device_id, name
    ), history as (
      insert into device_property_change (device_id, name, version, value, actor, changed_at)
      select device_id, name, version, value::json, actor::jsonb, clock_timestamp()
        from written join change using (device_id, name)
       where old_value is distinct from value and name <> all ($8::text[])
    ), summary as (
      update device d set hostname = coalesce(s.hostname, d.hostname), health = coalesce(s.health, d.health)
        from (select device_id, max(hostname) as hostname, max(health) as health
                from written join change using (device_id, name)
               where hostname is not null or health is not null group by device_id) s
       where d.device_id = s.device_id
    )
    select device_id, name, is_known and not is_refused as is_late
      from change left join written w using (device_id, name) where w.name is null`

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

  constructor(pool: pg.Pool, live: LiveHub, log: Logger) {
    this.#pool = pool
    this.#live = live
    const limits = {
      maxBatch: 1024 * 1024,
      maxWaiting: 64 * 1024 * 1024,
      maxWaitingEach: 8 * 1024 * 1024,
      lingerMs: LINGER_MS,
      retryForMs: 30_000,
      // Their senders are devices, which tell nobody.
      onGivenUp: (error: unknown) => log.error({ err: error }, 'what devices sent could not be stored'),
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
  async publishEvents(device: DeviceCaller, events: DeviceEvent[]): Promise<void> {
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
  changed(topic: LiveChange['topic'], { organizationId, projectId, deviceId }: DeviceCaller): void {
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
    // A statement can touch a row once: of several writes of one property each but the first waits for the next statement. What was
    // stored before the connection broke is not stored again: a value that others followed would come back.
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
  }

  /** Returns the writes of properties that somebody else created meanwhile, which are to be tried again before later ones. */
  async #upsertProperties(round: Map<string, PropertyWrite>): Promise<PropertyWrite[]> {
    const rows = [...round.values()]
    const summaries = rows.map(row => summaryOf(row.name, row.text))
    const statement = {
      text: UPSERT_PROPERTIES,
      ...(rows.length <= MAX_PLANNED_ROWS && { name: 'ingest-properties' }),
    }
    const { rows: unwritten } = await this.#pool.query<Unwritten>(statement, [
      rows.map(row => row.deviceId),
      rows.map(row => row.name),
      rows.map(row => row.text),
      rows.map(row => isPlainJson(row.text)),
      rows.map(row => row.actor),
      summaries.map(summary => summary.hostname),
      summaries.map(summary => summary.health),
      SYSTEM_INFO,
    ])
    for (const row of rows) row.isStored = true
    return unwritten.flatMap(({ device_id, name, is_late }) => {
      const write = round.get(keyOf(device_id, name))!
      write.isStored = false
      return is_late ? [write] : []
    })
  }
}

type Unwritten = { device_id: string; name: string; is_late: boolean }

function keyOf(deviceId: string, name: string): string {
  return `${deviceId} ${name}`
}

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
