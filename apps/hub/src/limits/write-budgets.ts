import { ActionError } from '@muster/actions'
import type { Scope } from '../access/scope.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitName, LimitValues } from './limits.ts'

/** Bytes that a stored row takes beside its value, counted with every value and event: many tiny ones fill a disk as well. */
export const ROW_BYTES = 200
/** Largest value or event that every device may write a number of, whatever else it has written, in bytes. */
export const SMALL_BYTES = 4 * 1024
/** Values and events of up to `SMALL_BYTES` that a device may write an hour beyond every budget: update scripts stop when one fails. */
const SMALL_WRITES_PER_HOUR = 60

const HOUR_MS = 60 * 60 * 1000
/** Interval in which counts that have drained are forgotten, in milliseconds. */
const SWEEP_MS = 60_000

/** The device that is written about, and what it belongs to. */
export type WriteSubject = { deviceId: string; projectId: string; organizationId: string }

/** The device of an action that writes about it. */
export function writeSubject({ deviceId, projectId, organizationId }: Scope): WriteSubject {
  return { deviceId: deviceId!, projectId: projectId!, organizationId: organizationId! }
}

/** A call that writes property values or events. */
export type Write = {
  kind: 'property' | 'event'
  /** Bytes of each value or event. */
  sizes: readonly number[]
  /** Whether a person wrote it: their writes do not use up what the device may write, nor the other way round. */
  isByOthers?: boolean
}

/** A total that is over its limit. */
export type TotalReached = { limit: LimitName; max: number; found: number }

type Options = {
  limits: LimitValues
  /** Why the disk takes small writes only, or nothing. */
  lowDisk: () => string | undefined
  /** The total of the device's project or organization that is reached, or nothing. */
  reachedTotal: (subject: WriteSubject) => TotalReached | undefined
  now?: () => number
}

/**
 * Bytes that devices, projects and organizations write an hour. Each has a leaky bucket in the memory of its node, which holds one
 * hour's bytes and drains steadily. A device that is over a budget, and every device while disk space is low, may still write 60 values
 * or events of up to 4 KiB an hour.
 */
export class WriteBudgets {
  readonly #options: Options
  readonly #now: () => number
  readonly #small = new Buckets(SMALL_WRITES_PER_HOUR)
  readonly #buckets: Record<'property' | 'event' | 'project' | 'organization', Buckets>
  #sweptAtMs: number

  constructor(options: Options) {
    const { limits } = options
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    this.#sweptAtMs = this.#now()
    this.#buckets = {
      property: new Buckets(limits['device-property-bytes-per-hour']),
      event: new Buckets(limits['device-event-bytes-per-hour']),
      project: new Buckets(limits['project-bytes-per-hour']),
      organization: new Buckets(limits['organization-bytes-per-hour']),
    }
  }

  /**
   * Charges a write. Throws `LimitReached` for one beyond a budget, and `Internal` (507) for one beyond the small ones while disk space
   * is low.
   */
  take(subject: WriteSubject, { kind, sizes, isByOthers = false }: Write): void {
    const nowMs = this.#now()
    if (nowMs - this.#sweptAtMs > SWEEP_MS) this.#sweep(nowMs)
    const { deviceId, projectId, organizationId } = subject
    const writer = isByOthers ? `${deviceId} others` : deviceId
    const refusal = this.#refusal(subject, writer, kind, bytesOf(sizes), nowMs)
    if (refusal === undefined) {
      const bytes = bytesOf(sizes)
      this.#buckets[kind].add(writer, bytes, nowMs)
      this.#buckets.project.add(projectId, bytes, nowMs)
      this.#buckets.organization.add(organizationId, bytes, nowMs)
      return
    }
    const isSmall = sizes.every(size => size <= SMALL_BYTES)
    if (!isSmall || this.#small.waitMs(writer, sizes.length, nowMs) > 0) throw refusal()
    this.#small.add(writer, sizes.length, nowMs)
  }

  /** Makes the error of a write that no budget takes. */
  #refusal(
    subject: WriteSubject,
    writer: string,
    kind: Write['kind'],
    bytes: number,
    nowMs: number,
  ): (() => ActionError) | undefined {
    const { limits, lowDisk, reachedTotal } = this.#options
    const low = lowDisk()
    if (low !== undefined) return () => lowDiskError(low)
    const total = reachedTotal(subject)
    if (total !== undefined) {
      const remedy = `Delete devices or ask the operator of the hub for more; until then ${SMALL_ONLY}.`
      return () => new LimitReached({ ...total, subject: writeSubject(subject), remedy })
    }
    const rates = [
      [`device-${kind}-bytes-per-hour`, this.#buckets[kind], writer],
      ['project-bytes-per-hour', this.#buckets.project, subject.projectId],
      ['organization-bytes-per-hour', this.#buckets.organization, subject.organizationId],
    ] as const
    for (const [limit, buckets, key] of rates) {
      const waitMs = buckets.waitMs(key, bytes, nowMs)
      if (waitMs === 0) continue
      const retry = Number.isFinite(waitMs) && { retryAfterSecs: Math.ceil(waitMs / 1000) }
      const remedy = `${retry ? `Try again in ${retry.retryAfterSecs} s` : 'Write less at once'}; until then ${SMALL_ONLY}.`
      const found = Math.ceil(buckets.level(key, nowMs) + bytes)
      return () =>
        new LimitReached({
          limit,
          subject: writeSubject(subject),
          max: limits[limit],
          found,
          remedy,
          ...retry,
        })
    }
    return undefined
  }

  #sweep(nowMs: number): void {
    this.#sweptAtMs = nowMs
    for (const buckets of [this.#small, ...Object.values(this.#buckets)]) buckets.sweep(nowMs)
  }
}

const SMALL_ONLY = `${SMALL_WRITES_PER_HOUR} values and events of up to ${SMALL_BYTES} bytes are stored an hour`

/** Leaky buckets by key, each of which drains its whole capacity in an hour. */
class Buckets {
  readonly #capacity: number
  readonly #levels = new Map<string, { level: number; atMs: number }>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** What a bucket holds now. */
  level(key: string, nowMs: number): number {
    const bucket = this.#levels.get(key)
    return bucket ? this.#drained(bucket, nowMs) : 0
  }

  /** Milliseconds until a bucket has room for an amount: 0 when it has, infinite for more than it can ever hold. */
  waitMs(key: string, amount: number, nowMs: number): number {
    if (amount > this.#capacity) return Number.POSITIVE_INFINITY
    const excess = this.level(key, nowMs) + amount - this.#capacity
    return excess <= 0 ? 0 : (excess / this.#capacity) * HOUR_MS
  }

  add(key: string, amount: number, nowMs: number): void {
    const bucket = this.#levels.get(key)
    if (!bucket) {
      this.#levels.set(key, { level: amount, atMs: nowMs })
      return
    }
    bucket.level = this.#drained(bucket, nowMs) + amount
    bucket.atMs = nowMs
  }

  /** Forgets empty buckets, so that memory follows the devices that wrote in the last hour. */
  sweep(nowMs: number): void {
    for (const [key, bucket] of this.#levels) if (this.#drained(bucket, nowMs) === 0) this.#levels.delete(key)
  }

  #drained({ level, atMs }: { level: number; atMs: number }, nowMs: number): number {
    return Math.max(0, level - ((nowMs - atMs) / HOUR_MS) * this.#capacity)
  }
}

function bytesOf(sizes: readonly number[]): number {
  let bytes = sizes.length * ROW_BYTES
  for (const size of sizes) bytes += size
  return bytes
}

/** What a write gets that would need space that a nearly full disk keeps. */
function lowDiskError(reason: string): ActionError {
  return new ActionError(
    'Internal',
    `The hub is short of disk space (${reason}): ${SMALL_ONLY}. Try again later.`,
    { status: 507 },
  )
}
