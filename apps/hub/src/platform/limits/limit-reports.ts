import type { LimitSubject } from '@muster/actions'
import { every } from '@muster/concurrency'
import { sql } from 'kysely'
import { SYSTEM } from '../pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
} from '../pipeline/command-transaction.ts'
import type { Measures } from '../runtime/measures.ts'
import { type LimitName, limitOf } from './limits.ts'

type Hit = { limit: LimitName; subject: LimitSubject; message: string }
type Window = Hit & { count: number; endsAtMs: number }

/** Window after a report in which further hits of the same limit and subject are only counted, in milliseconds. */
const WINDOW_MS = 10 * 60_000
/** Interval at which ended windows are reported, in milliseconds. */
const SWEEP_MS = 5_000
/**
 * Maximum number of windows in memory. Beyond it, the hits of further subjects share one window per limit. The report of that window has
 * no subject.
 */
const MAX_WINDOWS = 10_000

/** Field of `LimitSubject` that holds the id for a scope. */
const SCOPE_ID = {
  device: 'deviceId',
  token: 'tokenId',
  project: 'projectId',
  organization: 'organizationId',
  repository: 'repositoryId',
  package: 'packageId',
  person: 'userId',
  address: 'address',
} as const

type LimitReportsOptions = CommandParts & { measures?: Measures | undefined; windowMs?: number }

/**
 * Reports hit limits to operators. Each subject and limit gets at most one log line and one audit event in 10 minutes, with the
 * count of hits since the previous report. The first hit is reported immediately. `limit_hit` keeps the last report for the device's
 * page.
 */
export class LimitReports implements AsyncDisposable {
  readonly #parts: CommandParts
  readonly #measures: Measures | undefined
  readonly #windowMs: number
  readonly #windows = new Map<string, Window>()
  readonly #sweep: AsyncDisposable
  /**
   * Settles when the newest report is stored. Reports are stored one by one, so a fleet at its limits uses one connection of the
   * pool.
   */
  #last: Promise<void> = Promise.resolve()

  constructor({ measures, windowMs = WINDOW_MS, ...parts }: LimitReportsOptions) {
    this.#parts = parts
    this.#measures = measures
    this.#windowMs = windowMs
    this.#sweep = every(
      Math.min(SWEEP_MS, windowMs),
      () => this.#reportEnded(),
      () => {},
    )
  }

  /** Counts a hit. Never waits and never throws; a report that cannot be stored is logged. */
  add(limit: LimitName, subject: LimitSubject, message: string): void {
    this.#measures?.limitHit(limit)
    const subjectId = subject[SCOPE_ID[limitOf(limit).scope]]
    const ownKey = `${limit} ${subjectId}`
    const hasOwn = this.#windows.has(ownKey) || this.#windows.size < MAX_WINDOWS
    const key = hasOwn ? ownKey : limit
    const window = this.#windows.get(key)
    if (window) {
      window.count++
      window.message = message
      return
    }
    const hit = { limit, subject: hasOwn ? subject : {}, message }
    this.#windows.set(key, { ...hit, count: 0, endsAtMs: performance.now() + this.#windowMs })
    void this.#report(hit, 1)
  }

  /** Reports ended windows that counted further hits and restarts them. Removes ended windows without further hits. */
  async #reportEnded(now = performance.now()): Promise<void> {
    for (const [key, window] of this.#windows) {
      if (window.endsAtMs > now) continue
      const { count } = window
      if (count === 0) {
        this.#windows.delete(key)
        continue
      }
      window.count = 0
      window.endsAtMs = now + this.#windowMs
      await this.#report(window, count)
    }
  }

  #report({ limit, subject, message }: Hit, count: number): Promise<void> {
    this.#parts.log.warn({ limit, ...subject, count, message }, 'a limit was hit')
    this.#last = this.#last
      .then(() => this.#store({ limit, subject, message }, count))
      .catch(error =>
        this.#parts.log.error({ err: error, limit, ...subject }, 'the report of a limit was not stored'),
      )
    return this.#last
  }

  #store({ limit, subject, message }: Hit, count: number): Promise<void> {
    const subjectId = subject[SCOPE_ID[limitOf(limit).scope]]
    const store = async ({ tx, events }: CommandTransaction): Promise<void> => {
      await events.emit('limits_Reached', { ...subject, limit, count, message })
      if (subjectId === undefined) return
      await tx
        .insertInto('limit_hit')
        .values({ subject_id: subjectId, limit_name: limit, message, hits: count })
        .onConflict(conflict =>
          conflict.columns(['subject_id', 'limit_name']).doUpdateSet(({ ref }) => ({
            message: ref('excluded.message'),
            last_hit_at: ref('excluded.last_hit_at'),
            hits: sql`limit_hit.hits + excluded.hits`,
          })),
        )
        .execute()
    }
    return commandTransaction(store, { caller: SYSTEM, scope: {} }, this.#parts)
  }

  /** Reports the hits that were counted but not reported yet. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sweep[Symbol.asyncDispose]()
    await this.#reportEnded(Number.POSITIVE_INFINITY)
    await this.#last
  }
}
