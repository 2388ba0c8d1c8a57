import { sql } from 'kysely'
import type { Db, Tx } from '../database/client/connection.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitValues } from './limits.ts'
import { SMALL_BYTES, type WriteSubject, writeSubject } from './write-budgets.ts'

/** Bytes that a property adds to an answer that lists properties, besides its value and its name. The name appears twice. */
export const PROPERTY_OVERHEAD_BYTES = 160
/**
 * Bytes that a device may write before its total is read again. This number also bounds by how much a device that writes
 * through two nodes can exceed its limit.
 */
const UNCHECKED_BYTES = 256 * 1024
/**
 * Bytes that a device which has just connected to this node may write before its total is read. Without this allowance, a reconnecting
 * fleet would cause a query for each device.
 */
const FIRST_UNCHECKED_BYTES = 16 * 1024
/** Number of devices in `PropertyTotals.#room` at which the next check clears the map. */
const MAX_DEVICES = 200_000

/**
 * Properties that agents and update scripts write (docs/protocol.md 4.3). Small values of these properties are never refused, because a
 * refusal would stop updates.
 */
const ALWAYS_STORED = new Set([
  'dev.nexigon.system.info',
  'dev.nexigon.systemInfo',
  'dev.nexigon.system.health',
  'dev.nexigon.commands',
  'dev.nexigon.ota.status',
  'dev.nexigon.ota.config',
  'org.rugix.ota.config',
])

type PropertyWrite = { subject: WriteSubject; name: string; sizeBytes: number }
type Total = { bytes: number; count: number; old_bytes: number | null }

/**
 * Bounds the total size of the current property values of each device. A value counts with the size that it has in an answer that
 * lists properties. After the total of a device was read, the device may write a number of bytes unchecked that cannot exceed a limit.
 * Then the total is read again. A device over a limit can still replace a value by a smaller one.
 */
export class PropertyTotals {
  readonly #db: Db
  readonly #limits: LimitValues
  /** Bytes that a device may still write before its total is read again. */
  readonly #room = new Map<string, number>()
  /** Bytes by which the total of a device grows once the values are stored that were checked but not stored yet, by device id. */
  readonly #growing = new Map<string, number>()
  /** Running check per device. Checks of a device run one after the other, so that each includes the growth that earlier checks allowed. */
  readonly #checks = new Map<string, Promise<unknown>>()

  constructor(db: Db, limits: LimitValues) {
    this.#db = db
    this.#limits = limits
  }

  /** Calls `store` for a value if the totals of the device allow it. Throws `LimitReached` otherwise. */
  async storing(write: PropertyWrite, store: () => Promise<void>): Promise<void> {
    const { deviceId } = write.subject
    for (;;) {
      if (this.hasRoom(write)) {
        this.takeRoom(write)
        return store()
      }
      const running = this.#checks.get(deviceId)
      if (!running) break
      // The running check may allow further bytes, so the room is looked up again after it.
      await running.catch(() => {})
    }
    const check = this.#reserve(write, listedBytes(write)).finally(() => this.#checks.delete(deviceId))
    this.#checks.set(deviceId, check)
    const growth = await check
    try {
      await store()
    } finally {
      this.#addGrowing(deviceId, -growth)
    }
  }

  /** Whether a value may be stored without reading the totals of the device. If so, call `takeRoom` and store it. */
  hasRoom(write: PropertyWrite): boolean {
    return isAlwaysStored(write) || this.#roomBeside(write) >= 0
  }

  /** Subtracts a value from the bytes that its device may write unchecked. */
  takeRoom(write: PropertyWrite): void {
    if (!isAlwaysStored(write)) this.#room.set(write.subject.deviceId, this.#roomBeside(write))
  }

  #roomBeside(write: PropertyWrite): number {
    return (this.#room.get(write.subject.deviceId) ?? FIRST_UNCHECKED_BYTES) - listedBytes(write)
  }

  /** Throws `LimitReached` when the totals of a device do not allow a value that the transaction is about to write. */
  async check(tx: Tx, write: PropertyWrite): Promise<void> {
    if (isAlwaysStored(write)) return
    this.#require(write, await totalOf(tx, write), listedBytes(write), 0)
  }

  async #reserve(write: PropertyWrite, bytes: number): Promise<number> {
    const { deviceId } = write.subject
    const growingBytes = this.#growing.get(deviceId) ?? 0
    const total = await totalOf(this.#db, write)
    const growth = this.#require(write, total, bytes, growingBytes)
    this.#addGrowing(deviceId, growth)
    const leftBytes = this.#limits['device-property-bytes'] - total.bytes - growingBytes - growth
    const leftNames = this.#limits['device-properties'] - total.count - 1
    if (this.#room.size >= MAX_DEVICES) this.#room.clear()
    // Until this many further bytes are written, values of the device are accepted without reading its total again. Each value counts
    // as at least `PROPERTY_OVERHEAD_BYTES`, so the bytes also bound the number of new names.
    this.#room.set(deviceId, Math.min(UNCHECKED_BYTES, leftBytes, leftNames * PROPERTY_OVERHEAD_BYTES))
    return growth
  }

  /** Returns the bytes by which a value increases the total. Throws `LimitReached` when the total would exceed a limit. */
  #require(
    { subject, name, sizeBytes }: PropertyWrite,
    total: Total,
    bytes: number,
    growing: number,
  ): number {
    const growth = Math.max(0, bytes - (total.old_bytes ?? 0))
    if (growth === 0) return 0
    const maxCount = this.#limits['device-properties']
    if (total.old_bytes === null && total.count >= maxCount) {
      throw new LimitReached({
        limit: 'device-properties',
        subject: writeSubject(subject),
        max: maxCount,
        found: total.count + 1,
        remedy: `Remove properties before adding "${name}".`,
      })
    }
    const max = this.#limits['device-property-bytes']
    const allowed = sizeBytes <= SMALL_BYTES ? max : max - max / 8
    const found = total.bytes + growing + growth
    if (found > allowed) {
      throw new LimitReached({
        limit: 'device-property-bytes',
        subject: writeSubject(subject),
        max: Math.floor(allowed),
        found,
        remedy: 'Remove properties or write smaller values.',
      })
    }
    return growth
  }

  #addGrowing(deviceId: string, bytes: number): void {
    const now = (this.#growing.get(deviceId) ?? 0) + bytes
    if (now === 0) this.#growing.delete(deviceId)
    else this.#growing.set(deviceId, now)
  }
}

async function totalOf(db: Db, { subject, name }: PropertyWrite): Promise<Total> {
  // Rows that are older than the column `value_bytes` have null in it, so the query measures their values.
  const { rows } = await sql<Total>`
    select coalesce(sum(size), 0)::bigint as bytes, count(*) as count,
           max(size) filter (where name = ${name})::bigint as old_bytes
      from (select name, coalesce(value_bytes, octet_length(value::text)) + 2 * octet_length(name)
                   + ${PROPERTY_OVERHEAD_BYTES} as size
              from device_property where device_id = ${subject.deviceId}) p`.execute(db)
  return rows[0]!
}

function isAlwaysStored({ name, sizeBytes }: PropertyWrite): boolean {
  return sizeBytes <= SMALL_BYTES && ALWAYS_STORED.has(name)
}

function listedBytes({ name, sizeBytes }: PropertyWrite): number {
  return sizeBytes + 2 * Buffer.byteLength(name) + PROPERTY_OVERHEAD_BYTES
}
