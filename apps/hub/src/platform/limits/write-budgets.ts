import { ActionError } from '@muster/actions'
import type { Scope } from '../access/scope.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitName, LimitValues } from './limits.ts'

/**
 * Bytes charged per value or event besides its size. A stored row takes space beside its value, so many tiny values fill a disk,
 * too.
 */
export const ROW_BYTES = 200
/** Largest size of a small value or event, in bytes. Every device may write some small values and events beyond its budgets. */
export const SMALL_BYTES = 4 * 1024
/**
 * Number of small values and events per hour that a device may write beyond its budgets. Without this allowance, a device over its budget
 * could not be updated, because any failed write stops an update script.
 */
const SMALL_WRITES_PER_HOUR = 60

const HOUR_MS = 60 * 60 * 1000
/** Interval at which empty buckets are removed, in milliseconds. */
const SWEEP_MS = 60_000

/** Device that a write is about, with its project and organization. */
export type WriteSubject = { deviceId: string; projectId: string; organizationId: string }

/** Takes the ids of a `WriteSubject` from the scope of an action on a device. */
export function writeSubject({ deviceId, projectId, organizationId }: Scope): WriteSubject {
  return { deviceId: deviceId!, projectId: projectId!, organizationId: organizationId! }
}

/** Call that writes property values or events of a device. */
export type Write = {
  kind: 'property' | 'event'
  /** Size of each value or event, in bytes. */
  sizes: readonly number[]
  /** True for a call by another caller than the device, such as a person. Such calls have a separate budget per device. */
  isByOtherCaller?: boolean
}

/** Total of a project or organization that is over its limit. */
export type TotalReached = { limit: LimitName; max: number; found: number }

type Options = {
  limits: LimitValues
  /** Reason why only small writes are accepted because of low disk space; undefined otherwise. */
  lowDisk: () => string | undefined
  /** Returns the stored total of the device's project or organization if it is over its limit; undefined if neither is. */
  reachedTotal: (subject: WriteSubject) => TotalReached | undefined
  now?: () => number
}

/**
 * Budgets of the bytes that devices, projects and organizations write per hour. Each budget has a leaky bucket in the node's
 * memory, whose capacity is the budget of one hour. A device over a budget, and every device while disk space is low, may still
 * write 60 values or events of up to 4 KiB an hour.
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
   * Charges a write. Throws `LimitReached` when a budget is exceeded, and `Internal` (507) while disk space is low. Small writes
   * are accepted in both cases, up to 60 an hour.
   */
  take(subject: WriteSubject, { kind, sizes, isByOtherCaller = false }: Write): void {
    const nowMs = this.#now()
    if (nowMs - this.#sweptAtMs > SWEEP_MS) this.#sweep(nowMs)
    const { deviceId, projectId, organizationId } = subject
    const writer = isByOtherCaller ? `${deviceId} others` : deviceId
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

  /** Checks all budgets for a write. Returns a function that makes the error; undefined if every budget has room. */
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

/** Leaky buckets by key. A full bucket drains in an hour. */
class Buckets {
  readonly #capacity: number
  readonly #levels = new Map<string, { level: number; atMs: number }>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Current level of a bucket. */
  level(key: string, nowMs: number): number {
    const bucket = this.#levels.get(key)
    return bucket ? this.#drained(bucket, nowMs) : 0
  }

  /** Milliseconds until a bucket has room for an amount: 0 if it has room, infinite if the amount exceeds the capacity. */
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

  /** Removes empty buckets, so that memory is needed only for devices that wrote in the last hour. */
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

/** Error for a write while disk space is low. */
function lowDiskError(reason: string): ActionError {
  return new ActionError(
    'Internal',
    `The hub is short of disk space (${reason}): ${SMALL_ONLY}. Try again later.`,
    { status: 507 },
  )
}
