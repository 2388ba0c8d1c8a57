import { FairLimiter, LimiterRejection, type Permit } from '@muster/concurrency'
import { sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { LimitReached } from '../../platform/limits/limit-reached.ts'
import type { LimitValues } from '../../platform/limits/limits.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import type { Position } from './dispatcher.ts'

/** Requests that wait on a node. Each holds a connection of a client and some KiB. */
const MAX_WAITING = 500
/** Interval in milliseconds at which positions that other nodes have given are read, while requests wait. */
const POLL_MS = 1_000
/** Seconds after which a refused request should be tried again. */
const RETRY_AFTER_SECS = 5

type Waiter = { organizationId: string; after: number; wake: () => void }

/** Requests for a feed that wait for its next event. All share one statement a second, and none of them holds a connection of the database. */
export class FeedWaits {
  readonly #db: Db
  readonly #log: Logger
  readonly #limits: LimitValues
  readonly #permits: FairLimiter
  readonly #waiters = new Set<Waiter>()
  #timer: NodeJS.Timeout | undefined
  #isPolling = false
  #isClosed = false

  constructor({ db, log, limits }: { db: Db; log: Logger; limits: LimitValues }) {
    this.#db = db
    this.#log = log
    this.#limits = limits
    this.#permits = new FairLimiter({
      max: MAX_WAITING,
      maxPerOwner: limits['person-feed-waits'],
      maxWaiting: 0,
    })
  }

  /** Takes a place among the waiting requests. Throws `LimitReached`. */
  async enter(userId: string): Promise<Permit> {
    try {
      return await this.#permits.enter({ owner: userId })
    } catch (error) {
      if (!(error instanceof LimiterRejection)) throw error
      const max = this.#limits['person-feed-waits']
      throw new LimitReached({
        limit: 'person-feed-waits',
        subject: { userId },
        max,
        found: this.#permits.runningOf(userId) + 1,
        remedy: 'Follow a feed with one program, or end programs that are not used any more.',
        retryAfterSecs: RETRY_AFTER_SECS,
      })
    }
  }

  /** Waits until the organization has a position after `after`, at most `waitMs`. Resolves early when `signal` aborts or the node stops. */
  async wait(
    { organizationId, after }: Omit<Waiter, 'wake'>,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#isClosed || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { organizationId, after, wake: () => resolve() }
    const timeout = setTimeout(resolve, waitMs)
    signal.addEventListener('abort', waiter.wake)
    this.#waiters.add(waiter)
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS)
    try {
      await promise
    } finally {
      clearTimeout(timeout)
      signal.removeEventListener('abort', waiter.wake)
      this.#waiters.delete(waiter)
      if (this.#waiters.size === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
    }
  }

  /** Number of requests that wait. */
  get waitingCount(): number {
    return this.#waiters.size
  }

  /** Whether the node stops: requests must be answered. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Wakes the requests that wait for these positions. */
  advanced(positions: readonly Position[]): void {
    if (this.#waiters.size === 0) return
    const newest = new Map(positions.map(({ organizationId, position }) => [organizationId, position]))
    for (const { organizationId, after, wake } of this.#waiters)
      if ((newest.get(organizationId) ?? 0) > after) wake()
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    try {
      const ids = [...new Set([...this.#waiters].map(({ organizationId }) => organizationId))]
      const { rows } = await sql<Position>`
        select organization_id as "organizationId", last_position as position
          from outbox_position where organization_id = any (${ids})`.execute(this.#db)
      this.advanced(rows)
    } catch (error) {
      this.#log.warn({ err: error }, 'the positions of feeds were not read')
    } finally {
      this.#isPolling = false
    }
  }

  /** Ends all waits. */
  close(): void {
    this.#isClosed = true
    for (const { wake } of this.#waiters) wake()
  }
}
