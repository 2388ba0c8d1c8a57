import { sql } from 'kysely'
import type { Db, Tx } from '../database/client/connection.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitValues } from './limits.ts'
import { SMALL_BYTES, type WriteSubject, writeSubject } from './write-budgets.ts'

/** Bytes around a property in an answer that lists it, besides its name, which is there twice. */
export const AROUND_PROPERTY_BYTES = 160
/** Bytes that a device may write between two looks at its total. Bounds what writes at two nodes can add unseen. */
const UNSEEN_BYTES = 256 * 1024
/** The same for a device that this node does not know yet: a fleet that comes back must not cost a query for each device. */
const FIRST_UNSEEN_BYTES = 16 * 1024
/** Devices whose room is kept in memory. */
const MAX_DEVICES = 200_000

/** Properties that agents and update scripts write (protocol 4.3): small values of them are never refused, or updates would stop. */
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
 * Bounds the current property values of each device, as they are listed. A device writes some values unchecked, as far as its total
 * surely allows; then its total is read again. Whoever is over a limit can still replace a value by a smaller one.
 */
export class PropertyTotals {
  readonly #db: Db
  readonly #limits: LimitValues
  /** Bytes that a device may write until its total must be looked at. */
  readonly #room = new Map<string, number>()
  /** Growth by values that were checked and may not be stored yet. */
  readonly #growing = new Map<string, number>()
  /** Checks of a device follow each other, so that each knows what the ones before let through. */
  readonly #checks = new Map<string, Promise<unknown>>()

  constructor(db: Db, limits: LimitValues) {
    this.#db = db
    this.#limits = limits
  }

  /** Stores a value of a device by `store` if its totals allow. Throws `LimitReached`. */
  async storing(write: PropertyWrite, store: () => Promise<void>): Promise<void> {
    if (isAlwaysStored(write)) return store()
    const { deviceId } = write.subject
    const bytes = listedBytes(write)
    for (;;) {
      const room = this.#room.get(deviceId) ?? FIRST_UNSEEN_BYTES
      if (bytes <= room) {
        this.#room.set(deviceId, room - bytes)
        return store()
      }
      const running = this.#checks.get(deviceId)
      if (!running) break
      // It may leave room for this value, too.
      await running.catch(() => {})
    }
    const check = this.#reserve(write, bytes).finally(() => this.#checks.delete(deviceId))
    this.#checks.set(deviceId, check)
    const growth = await check
    try {
      await store()
    } finally {
      this.#addGrowing(deviceId, -growth)
    }
  }

  /** Throws `LimitReached` when the totals of a device do not allow a value that a transaction is about to write. */
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
    // Each unchecked value may have a new name.
    this.#room.set(deviceId, Math.min(UNSEEN_BYTES, leftBytes, leftNames * AROUND_PROPERTY_BYTES))
    return growth
  }

  /** By how much the total grows; throws when that is too much. */
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
  // Values from before sizes were stored are measured.
  const { rows } = await sql<Total>`
    select coalesce(sum(size), 0)::bigint as bytes, count(*) as count,
           max(size) filter (where name = ${name})::bigint as old_bytes
      from (select name, coalesce(value_bytes, octet_length(value::text)) + 2 * octet_length(name)
                   + ${AROUND_PROPERTY_BYTES} as size
              from device_property where device_id = ${subject.deviceId}) p`.execute(db)
  return rows[0]!
}

function isAlwaysStored({ name, sizeBytes }: PropertyWrite): boolean {
  return sizeBytes <= SMALL_BYTES && ALWAYS_STORED.has(name)
}

function listedBytes({ name, sizeBytes }: PropertyWrite): number {
  return sizeBytes + 2 * Buffer.byteLength(name) + AROUND_PROPERTY_BYTES
}
