import { sql } from 'kysely'
import type { Db } from '../client/connection.ts'
import { isConnectionError, sqlState } from '../client/errors.ts'

/** Age of the last stored heartbeat above which the hub is not ready, in milliseconds: three heartbeat intervals of 5 s. */
const STALE_AFTER_MS = 15_000
/** Timeout of the query that shows whether the database answers, in milliseconds. */
const QUERY_TIMEOUT_MS = 2_000

/** Reasons for a refused write, by SQLSTATE. PostgreSQL's own message may contain paths and names, so it is not shown. */
const REASONS: Record<string, string> = {
  '25006': 'the database is read-only, as a standby is',
  '42501': "the database user may not write the hub's tables",
  '53100': "the database's disk is full",
  '53200': 'the database is out of memory',
  '53300': 'the database has no connection left',
  '55P03': 'a lock in the database is held for too long',
  '57014': 'the database is too slow',
  '57P01': 'the database is shutting down',
  '57P02': 'the database has crashed',
  '57P03': 'the database is starting or shutting down',
  '58030': "the database's disk fails",
}

/** Answer of `GET /readyz`. Every status except "not ready" has the HTTP status 200. */
export type ReadyState =
  | { status: 'ready' }
  | { status: 'degraded'; reason: string }
  | { status: 'not ready'; reason: string }

/**
 * Readiness of this hub. It is ready while the database answers and stores the heartbeat of this node. Parts of the hub that have
 * to refuse some work set a reason: the hub is then `degraded`, but stays ready for load balancers.
 */
export class Readiness {
  readonly #db: Db
  readonly #staleAfterMs: number
  readonly #degraded = new Map<string, string>()
  #storedAtMs = performance.now()
  #failure = 'no answer yet'
  #isDraining = false

  constructor(db: Db, staleAfterMs = STALE_AFTER_MS) {
    this.#db = db
    this.#staleAfterMs = staleAfterMs
  }

  /** Adds or replaces a human-readable reason for the state `degraded`. The key identifies the part of the hub that sets the reason. */
  degrade(key: string, reason: string): void {
    this.#degraded.set(key, reason)
  }

  /** Removes the reason that has this key. */
  restore(key: string): void {
    this.#degraded.delete(key)
  }

  /** True while this node stops and other nodes take its devices. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Makes this node not ready, so that load balancers send their requests to other nodes. */
  startDraining(): void {
    this.#isDraining = true
  }

  /** Records that the heartbeat of this node was stored. */
  heartbeatStored(): void {
    this.#storedAtMs = performance.now()
    this.#failure = 'no answer yet'
  }

  /** Records why the heartbeat of this node could not be stored. */
  heartbeatFailed(error: unknown): void {
    this.#failure = reasonOf(error)
  }

  /** Returns the current state. Never throws. */
  async state(): Promise<ReadyState> {
    if (this.#isDraining) return { status: 'not ready', reason: 'draining' }
    const problem = await this.#problem()
    if (problem !== undefined) return { status: 'not ready', reason: problem }
    if (this.#degraded.size > 0)
      return { status: 'degraded', reason: [...this.#degraded.values()].join('; ') }
    return { status: 'ready' }
  }

  async #problem(): Promise<string | undefined> {
    const ageMs = performance.now() - this.#storedAtMs
    const timeout = new Promise<string>(done =>
      setTimeout(() => done('the database does not answer'), QUERY_TIMEOUT_MS).unref(),
    )
    const check = sql`select 1`.execute(this.#db).then(
      () => undefined,
      () => 'the database cannot be reached',
    )
    const problem = await Promise.race([check, timeout])
    if (problem !== undefined || ageMs <= this.#staleAfterMs) return problem
    return `the heartbeat of this node was last stored ${Math.round(ageMs / 1000)} s ago (${this.#failure})`
  }
}

function reasonOf(error: unknown): string {
  const state = sqlState(error)
  if (state !== undefined) {
    const words = REASONS[state] ?? 'the database refused it'
    return `${words}, SQLSTATE ${state}`
  }
  return isConnectionError(error) ? 'the database cannot be reached' : 'the database refused it'
}
