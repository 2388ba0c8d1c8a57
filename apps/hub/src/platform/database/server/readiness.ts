import { type Db, select } from '../client/connection.ts'
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

/** Parts of the hub that can put it into the state `degraded`. */
export const HEALTH_PARTS = ['database', 'disk', 'files', 'bus', 'clock', 'certificate', 'mail'] as const
/** Part of the hub that can put it into the state `degraded`. */
export type HealthPart = (typeof HEALTH_PARTS)[number]

/** Health of this hub: whether it can serve requests, and which parts do not work for which reason. */
export type Health = {
  state: 'starting' | 'ready' | 'degraded' | 'draining'
  /** Whether load balancers should send requests to this node. */
  isReady: boolean
  reasons: { part: HealthPart; reason: string }[]
}

/** Answer of `GET /readyz`. "not ready" has the HTTP status 503, and every other status has 200. */
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
  readonly #degraded = new Map<HealthPart, string>()
  #storedAtMs = performance.now()
  #failure = 'no answer yet'
  #isDraining = false

  constructor(db: Db, staleAfterMs = STALE_AFTER_MS) {
    this.#db = db
    this.#staleAfterMs = staleAfterMs
  }

  /** Adds or replaces a human-readable reason for the state `degraded`. Each part has at most one reason. */
  degrade(part: HealthPart, reason: string): void {
    this.#degraded.set(part, reason)
  }

  /** Removes the reason of a part. */
  restore(part: HealthPart): void {
    this.#degraded.delete(part)
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

  /** Time since the heartbeat of this node was last stored, in milliseconds. */
  get heartbeatAgeMs(): number {
    return performance.now() - this.#storedAtMs
  }

  /** Returns the current health, with the most urgent reason first. Never throws. */
  async health(): Promise<Health> {
    const degraded = [...this.#degraded].map(([part, reason]) => ({ part, reason }))
    if (this.#isDraining) return { state: 'draining', isReady: false, reasons: degraded }
    const problem = await this.#problem()
    if (problem !== undefined)
      return {
        state: 'degraded',
        isReady: false,
        reasons: [{ part: 'database', reason: problem }, ...degraded],
      }
    return { state: degraded.length > 0 ? 'degraded' : 'ready', isReady: true, reasons: degraded }
  }

  /** Returns the response body of `GET /readyz`, a short form of the health. Never throws. */
  async state(): Promise<ReadyState> {
    const { state, isReady, reasons } = await this.health()
    if (state === 'draining') return { status: 'not ready', reason: 'draining' }
    if (!isReady) return { status: 'not ready', reason: reasons[0]!.reason }
    if (state === 'ready') return { status: 'ready' }
    return { status: 'degraded', reason: reasons.map(({ reason }) => reason).join('; ') }
  }

  async #problem(): Promise<string | undefined> {
    const ageMs = this.heartbeatAgeMs
    const timeout = new Promise<string>(done =>
      setTimeout(() => done('the database does not answer'), QUERY_TIMEOUT_MS).unref(),
    )
    // A look-up does not wait for a connection of the pool, which may be exhausted.
    const check = select(this.#db, 'select 1', []).then(
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
