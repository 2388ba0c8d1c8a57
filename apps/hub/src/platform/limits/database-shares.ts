import { ActionError, type LimitSubject } from '@muster/actions'
import { FairLimiter, LimiterRejection, type Permit } from '@muster/concurrency'
import { type Db, type Tx, withPermits } from '../database/client/connection.ts'
import { isLockTimeout } from '../database/client/errors.ts'
import { hasLockedTable } from '../database/client/table-locks.ts'
import { type Caller, personOf } from '../pipeline/caller.ts'
import { countedAs } from './counted-address.ts'
import { add, subtract } from './counts.ts'
import { LimitReached } from './limit-reached.ts'
import { type LimitName, type LimitValues, POOL_CONNECTIONS } from './limits.ts'
import { Turns } from './turns.ts'

/**
 * Maximum number of connections that all callers hold together. The others are for work of the hub itself, such as telemetry and connecting
 * devices, which goes on while many people wait for a locked table.
 */
const MAX_CONNECTIONS = POOL_CONNECTIONS - 2
/**
 * Maximum number of queries that read many rows to return a few, such as filtered lists, and may run until the statement timeout. Together
 * with the brief queries, they leave four connections of the pool to other statements.
 */
const MAX_LONG_QUERIES = 4
/** Share of the long queries that other people leave free, which a person may run. So two people do not run all of them. */
const MAX_SHARE_OF_LONG_QUERIES = 0.5

/**
 * Limits of counts, suggestions, searches and timelines, each of which may take 2 s. A caller runs one at a time by default, so typing
 * occupies one connection of the pool, and at most 100 wait, so that one caller does not fill the queue of all. `waitMs` is the duration of two
 * queries and a margin.
 */
const BRIEF_QUERIES = { max: 3, maxWaiting: 2_000, maxWaitingPerOwner: 100, waitMs: 5_000 }

/** Longest wait of a statement for a connection that its caller may hold, in milliseconds: that for a connection of the pool. */
const WAIT_MS = 10_000
/**
 * Time for which a statement of a caller waits for a lock, in milliseconds. After it, the caller's work gives its connections back and is
 * repeated. PostgreSQL looks for deadlocks only after 1 s, so a deadlock of two callers ends as two such waits.
 */
const LOCK_MS = 250
/**
 * Limits of work that is repeated because of a lock. Whatever the number of callers who wait, they hold two connections, while the pool, the
 * long and the brief queries have more. `waitMs` is the longest wait for a place.
 */
const LOCKED = { max: 2, maxPerOwner: 1, maxWaiting: 1_000, maxWaitingPerOwner: 100, waitMs: 10_000 }
/** Time after which work counts as past its locks and leaves its place to others, in milliseconds. Each of its statements waits for `LOCK_MS`. */
const PLACE_MS = 1_000
/** Time after which work is not repeated any more, in milliseconds. With the wait for a place, this is as long as a statement may take. */
const REPEAT_MS = 20_000

/** Time for which the locks of tables are not looked at again, in milliseconds. */
const LOOK_MS = 100

/** Time after which a refused caller should try again, in seconds. */
const RETRY_AFTER_SECS = 5

/** Time for which a person counts as active after a call, in milliseconds. */
const ACTIVE_MS = 1_000

/** Maximum number of callers whose databases are kept. */
const MAX_KEPT = 1_000

/** Caller as the subject of limits. Callers with the same `key` share their connections on a node. It begins with the kind of caller. */
type Owner = { key: `${Kind} ${string}`; subject: LimitSubject }
type Kind = 'person' | 'device' | 'address'

/** Maps a list that may be long, a portion in a turn of the event loop. Throws `RateLimited` after a wait of 10 s for a turn. */
export type InPortions = <T, R>(
  items: readonly T[],
  map: (portion: readonly T[]) => readonly R[],
) => Promise<R[]>

/** Access of one call to the database and to the time of this process, within the share of its caller. */
export type DatabaseShare = {
  /**
   * Database whose statements wait until the caller holds fewer connections than its limit, and fail if a lock is held for longer than 250
   * ms. Look-ups never wait. Code that has a connection of this database, such as in a transaction, must not ask it for another one: the
   * connections of a caller could all wait for each other.
   */
  db: Db
  /**
   * Runs work on `db`, and repeats it while a lock is held, for up to 30 s. Between two times the work holds no connection, so the work must
   * be one that can be repeated: queries, one statement that writes, or one transaction.
   */
  repeatLocked<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
  /** Runs a transaction on `db`, and repeats it while a lock is held. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /** Runs a query that may take until the statement timeout. Throws `RateLimited` after a wait of 10 s. */
  long<Result>(signal: AbortSignal, query: () => Promise<Result>): Promise<Result>
  /** Runs a query that takes at most 2 s. Throws `RateLimited` after a wait of 5 s. */
  brief<Result>(signal: AbortSignal, query: () => Promise<Result>): Promise<Result>
  /**
   * Runs a query that answers with a page of a list. While other people call, waits until fewer of a person's run than their limit, and
   * throws `RateLimited` after a wait of 10 s.
   */
  page<Result>(signal: AbortSignal, query: () => Promise<Result>): Promise<Result>
  inPortions: InPortions
}

/** Options of `DatabaseShares`, for tests. */
export type DatabaseSharesOptions = {
  /** Longest wait for a connection, and for the start of a long query, in milliseconds; 10 s by default. */
  waitMs?: number | undefined
  /** Time for which a statement waits for a lock, in milliseconds; 250 ms by default. */
  lockMs?: number | undefined
}

/**
 * Decides what one caller may hold of the connections to the database on this node, over all transports: at most a third of the pool, and
 * of these a few for slow queries. All actions ask here. Callers beyond a limit wait, in fair turns, and only after a deadline are they
 * refused. Callers who wait for a lock hold two connections together, whatever their number: the actions that met the lock are repeated in
 * fair turns, and further calls of the same actions join them, if the lock is that of a table. The lock of a row concerns few: only further
 * calls of the same caller join them, so that a tenant with a locked row does not delay the same actions of other tenants. While several
 * people call, each reads a few pages of lists at once, because a page also takes time of this process. Long lists of all callers are
 * converted in turns, too.
 */
export class DatabaseShares {
  readonly #db: Db
  readonly #values: LimitValues
  readonly #pages: FairLimiter
  readonly #connections: FairLimiter
  readonly #long: FairLimiter
  /** The two people who have called last, the last one first. */
  #people: { key: string; atMs: number }[] = []
  /** Databases of recent callers. Making one for each call would cost 8 us. */
  readonly #dbs = new Map<string, Db>()
  readonly #brief: FairLimiter
  readonly #locked = new FairLimiter(LOCKED)
  /** Number of calls that wait for a lock, by the name of their action, and of those that wait for the lock of a row also by their caller. */
  readonly #lockedCalls = new Map<string, number>()
  /** Last look at the locks of tables. */
  #tableLock: { atMs: number; isLocked: Promise<boolean> } | undefined
  readonly #turns: Turns
  readonly #lockMs: number

  constructor(
    db: Db,
    values: LimitValues,
    { waitMs = WAIT_MS, lockMs = LOCK_MS }: DatabaseSharesOptions = {},
  ) {
    this.#db = db
    this.#values = values
    this.#lockMs = lockMs
    this.#pages = new FairLimiter({
      max: Number.POSITIVE_INFINITY,
      maxPerOwner: key => (this.#isAlone(key) ? Number.POSITIVE_INFINITY : values['person-pages']),
      waitMs,
    })
    this.#connections = new FairLimiter({
      max: MAX_CONNECTIONS,
      maxPerOwner: key => values[limitOf(key)],
      waitMs,
    })
    this.#long = new FairLimiter({
      max: MAX_LONG_QUERIES,
      maxPerOwner: values['person-long-queries'],
      maxShareOfFree: MAX_SHARE_OF_LONG_QUERIES,
      waitMs,
    })
    this.#brief = new FairLimiter({ ...BRIEF_QUERIES, maxPerOwner: values['person-brief-queries'] })
    this.#turns = new Turns(waitMs)
  }

  /** Share of the caller of an action, by its name. `address` is the client address of a caller without credentials. */
  of(caller: Caller, address: string | undefined, action: string): DatabaseShare {
    return this.#shareOf(ownerOf(caller, address), action)
  }

  /** Share of a person for work that is no action. Without a person, that of the hub. */
  ofPerson(userId: string | undefined, work: string): DatabaseShare {
    return this.#shareOf(userId === undefined ? undefined : personOwner(userId), work)
  }

  #shareOf(owner: Owner | undefined, action: string): DatabaseShare {
    if (owner?.subject.userId !== undefined) this.#noteCall(owner.key)
    const db = owner ? this.#dbOf(owner) : this.#db
    const repeatLocked: DatabaseShare['repeatLocked'] = (work, signal) =>
      owner ? this.#repeatLocked(owner, action, work, signal) : work()
    return {
      db,
      repeatLocked,
      transaction: work => repeatLocked(() => db.transaction().execute(work)),
      long: (signal, query) => this.#runSlow(this.#long, 'person-long-queries', owner, signal, query),
      brief: (signal, query) => this.#runSlow(this.#brief, 'person-brief-queries', owner, signal, query),
      page: (signal, query) =>
        owner?.subject.userId === undefined ? query() : this.#runPage(owner, signal, query),
      inPortions: (items, map) => this.#inPortions(owner, items, map),
    }
  }

  #noteCall(key: string): void {
    const atMs = performance.now()
    const [last] = this.#people
    if (last?.key === key) last.atMs = atMs
    else this.#people = [{ key, atMs }, ...(last ? [last] : [])]
  }

  /** Whether no other person has called in the last second. */
  #isAlone(key: string): boolean {
    const other = this.#people.find(person => person.key !== key)
    return other === undefined || performance.now() - other.atMs > ACTIVE_MS
  }

  #dbOf(owner: Owner): Db {
    const kept = this.#dbs.get(owner.key)
    if (kept) return kept
    const db = withPermits(this.#db, { enter: () => this.#enter(owner), lockMs: this.#lockMs })
    this.#dbs.set(owner.key, db)
    const [oldest] = this.#dbs.keys()
    if (this.#dbs.size > MAX_KEPT) this.#dbs.delete(oldest!)
    return db
  }

  async #enter(owner: Owner): Promise<Permit> {
    const { key } = owner
    try {
      return await this.#connections.enter({ owner: key })
    } catch (error) {
      if (!(error instanceof LimiterRejection)) throw error
      const limit = limitOf(key)
      if (this.#connections.runningOf(key) >= this.#values[limit])
        throw this.#reached(limit, owner, this.#connections)
      throw noConnection()
    }
  }

  async #repeatLocked<Result>(
    { key }: Owner,
    action: string,
    work: () => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const endsAtMs = performance.now() + REPEAT_MS
    const ofCaller = `${action} ${key}`
    let reason: unknown
    // While such calls wait for a lock, a further one would most likely wait for it, too.
    let calls = [action, ofCaller].find(each => this.#lockedCalls.has(each))
    if (calls === undefined)
      try {
        return await work()
      } catch (error) {
        if (!isLockTimeout(error)) throw error
        reason = error
        calls = (await this.#isTableLocked()) ? action : ofCaller
      }
    for (;;) {
      using place = await this.#placeOf(key, calls, signal, reason)
      const timer = setTimeout(place.release, PLACE_MS)
      try {
        return await work()
      } catch (error) {
        if (!isLockTimeout(error) || performance.now() > endsAtMs) throw error
        reason = error
        calls = (await this.#isTableLocked()) ? action : ofCaller
      } finally {
        clearTimeout(timer)
      }
    }
  }

  /** Whether a whole table is locked, or was 100 ms ago. Else calls wait for the lock of a row. */
  async #isTableLocked(): Promise<boolean> {
    const nowMs = performance.now()
    if (this.#tableLock === undefined || nowMs - this.#tableLock.atMs > LOOK_MS)
      // Without an answer, the calls of all are kept together.
      this.#tableLock = { atMs: nowMs, isLocked: hasLockedTable(this.#db).catch(() => true) }
    return this.#tableLock.isLocked
  }

  /** Waits for a place among the work that is repeated. Throws `reason`, the error of the last time, after 10 s. */
  async #placeOf(
    owner: string,
    calls: string,
    signal: AbortSignal | undefined,
    reason: unknown,
  ): Promise<Permit> {
    add(this.#lockedCalls, calls)
    let permit: Permit
    try {
      permit = await this.#locked.enter({ owner, signal })
    } catch (error) {
      subtract(this.#lockedCalls, calls)
      throw error instanceof LimiterRejection ? (reason ?? lockHeld()) : error
    }
    let isReleased = false
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      subtract(this.#lockedCalls, calls)
      permit.release()
    }
    return { release, [Symbol.dispose]: release }
  }

  /** Runs a query within a limit of a person and of all. Throws `RateLimited` when it got no place in time. */
  async #runSlow<Result>(
    limiter: FairLimiter,
    limit: 'person-long-queries' | 'person-brief-queries',
    owner: Owner | undefined,
    signal: AbortSignal,
    query: () => Promise<Result>,
  ): Promise<Result> {
    const key = owner?.key ?? ''
    try {
      return await limiter.run(query, { owner: key, signal })
    } catch (error) {
      if (!(error instanceof LimiterRejection)) throw error
      if (owner?.subject.userId !== undefined && limiter.runningOf(key) >= this.#values[limit])
        throw this.#reached(limit, owner, limiter)
      const what = limiter === this.#long ? 'long queries run' : 'counts, searches and timelines run'
      throw tooMany(`Too many ${what} at once: try again later.`)
    }
  }

  async #runPage<Result>(owner: Owner, signal: AbortSignal, query: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#pages.run(query, { owner: owner.key, signal })
    } catch (error) {
      if (!(error instanceof LimiterRejection)) throw error
      throw this.#reached('person-pages', owner, this.#pages)
    }
  }

  async #inPortions<T, R>(
    owner: Owner | undefined,
    items: readonly T[],
    map: (portion: readonly T[]) => readonly R[],
  ): Promise<R[]> {
    try {
      return await this.#turns.map(owner?.key ?? '', items, map)
    } catch (error) {
      if (!(error instanceof LimiterRejection)) throw error
      throw tooMany('Too many long lists are written at once: try again later.')
    }
  }

  /** Error for the bound of a person, device or address in a limiter. The rejected call does not count there any more. */
  #reached(limit: LimitName, { key, subject }: Owner, limiter: FairLimiter): LimitReached {
    const max = this.#values[limit]
    const found = limiter.countOf(key) + 1
    const remedy = 'Wait until other calls have ended, and send fewer at once.'
    return new LimitReached({ limit, subject, max, found, remedy, retryAfterSecs: RETRY_AFTER_SECS })
  }
}

/** Caller as the subject of limits; undefined for the hub itself. */
function ownerOf(caller: Caller, address: string | undefined): Owner | undefined {
  const person = personOf(caller)
  if (person) return personOwner(person.userId)
  if (caller.actor === 'Device') {
    const { deviceId, projectId, organizationId } = caller
    return { key: `device ${deviceId}`, subject: { deviceId, projectId, organizationId } }
  }
  if (caller.actor !== 'Anonymous' || address === undefined) return undefined
  const counted = countedAs(address)
  return { key: `address ${counted}`, subject: { address: counted } }
}

function personOwner(userId: string): Owner {
  return { key: `person ${userId}`, subject: { userId } }
}

/** Limit of the connections of a caller, by its key. */
function limitOf(key: string): `${Kind}-database-connections` {
  return `${key.split(' ', 1)[0] as Kind}-database-connections`
}

/** Error for a caller who got no connection because others hold all of them. Its code makes the hub answer 503, as for a full pool. */
function noConnection(): Error {
  return Object.assign(new Error('All connections to the database are in use.'), { code: '53300' })
}

/** Error for a call that joined others which wait for a lock, and got no turn. Its code is that of a wait that took too long. */
function lockHeld(): Error {
  return Object.assign(new Error('A lock in the database is held for too long.'), { code: '55P03' })
}

function tooMany(message: string): ActionError {
  return new ActionError('RateLimited', message, { retryAfterSecs: RETRY_AFTER_SECS })
}
