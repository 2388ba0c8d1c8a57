import type { Socket } from 'node:net'
import type pg from 'pg'
import type { Measures } from '../../runtime/measures.ts'
import { isLockTimeout, isUnprepared } from './errors.ts'
import { Pipeline } from './pipeline.ts'

/** Connection of look-ups: `usual` gives up a look-up that waits for a lock at once, and `waiting` after a while. */
export type LookUpLane = 'usual' | 'waiting'

/**
 * Time for which a look-up waits for a lock on each connection, in milliseconds. All look-ups behind it wait as well. On the usual connection
 * any wait is too long, and PostgreSQL accepts whole milliseconds. On the other one, look-ups of other locked tables have their turn after it.
 */
export const LOOK_UP_LOCK_MS: Record<LookUpLane, number> = { usual: 1, waiting: 50 }
/**
 * Maximum number of look-ups without an answer on the usual connection. All of them may need the same locked table, so they hold up others
 * for at most 48 ms.
 */
const MAX_IN_FLIGHT = 48
/** Maximum number of look-ups that wait for locks. */
const MAX_WAITING = 1_000
/** Longest wait of a look-up for locks, in milliseconds: that of a statement. */
const MAX_WAIT_MS = 30_000

/** Look-ups with one text that wait for a lock. One of them is repeated on the second connection, and `freed` resolves when it has ended. */
type Locked = { freed: PromiseWithResolvers<void>; isRepeated: boolean }

type LookUpsOptions = {
  idleMs: number
  onError: (error: Error) => void
  measures?: Measures | undefined
}

/**
 * Runs the look-ups of all requests on one pipelined connection. Only fast statements belong here: a slow statement delays all statements
 * behind it. A look-up that needs a locked table moves to a second connection, where it is repeated, with a short wait each time: a table
 * that is locked for long does not hold up the look-ups of another one that was locked for a moment. Further look-ups with its text wait
 * until it has got its rows. So look-ups of other tables go on while tables are locked.
 */
export class LookUps {
  readonly #usual: Pipeline
  readonly #waiting: Pipeline
  readonly #measures: Measures | undefined
  /** Look-ups that wait for a lock, by their texts. */
  readonly #locked = new Map<string, Locked>()
  #waitingCount = 0

  /**
   * `open` makes a client on a socket. After `idleMs`, an unused connection is closed, and a connection whose look-ups get no
   * answer is destroyed.
   */
  constructor(
    open: (socket: Socket, lane: LookUpLane) => pg.Client,
    { idleMs, onError, measures }: LookUpsOptions,
  ) {
    this.#usual = new Pipeline(socket => open(socket, 'usual'), {
      idleMs,
      onError,
      maxInFlight: MAX_IN_FLIGHT,
    })
    this.#waiting = new Pipeline(socket => open(socket, 'waiting'), {
      idleMs,
      onError,
      maxInFlight: Number.POSITIVE_INFINITY,
    })
    this.#measures = measures
  }

  /** Runs a statement and resolves to its rows. Rejects with the database's error, or when the database cannot be reached. */
  async select<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    const startedAtMs = performance.now()
    try {
      return (await this.#selectUnlocked<Row>(text, values)) ?? (await this.#wait<Row>(text, values))
    } finally {
      this.#measures?.lookedUp(performance.now() - startedAtMs)
    }
  }

  /** Resolves to undefined for a look-up that has to wait for a lock. */
  async #selectUnlocked<Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[],
  ): Promise<Row[] | undefined> {
    try {
      return await this.#usual.select<Row>(text, values, () => !this.#locked.has(text))
    } catch (error) {
      // A look-up that was sent behind the first one of its text fails with it, if the first one got no lock to be prepared.
      if (isUnprepared(error) && this.#locked.has(text)) return undefined
      if (!isLockTimeout(error)) throw error
      if (!this.#locked.has(text))
        this.#locked.set(text, { freed: Promise.withResolvers(), isRepeated: false })
      return undefined
    }
  }

  /** Waits for a lock. Rejects with the error of a lock that is held for too long after 30 s, or when too many look-ups wait. */
  async #wait<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    if (this.#waitingCount >= MAX_WAITING)
      throw heldTooLong(`More than ${MAX_WAITING} look-ups wait for a locked table.`)
    const endsAtMs = performance.now() + MAX_WAIT_MS
    this.#waitingCount++
    try {
      while (performance.now() < endsAtMs) {
        const locked = this.#locked.get(text)
        if (locked?.isRepeated === false) return await this.#repeat<Row>(text, values, locked, endsAtMs)
        // The repeated look-up ends in less time than a new one may wait.
        await locked?.freed.promise
        const rows = await this.#selectUnlocked<Row>(text, values)
        if (rows) return rows
      }
      throw heldTooLong('A lock in the database is held for too long.')
    } finally {
      this.#waitingCount--
    }
  }

  async #repeat<Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[],
    locked: Locked,
    endsAtMs: number,
  ): Promise<Row[]> {
    locked.isRepeated = true
    try {
      for (;;) {
        try {
          return (await this.#waiting.select<Row>(text, values))!
        } catch (error) {
          if (!isLockTimeout(error) || performance.now() >= endsAtMs) throw error
        }
      }
    } finally {
      this.#locked.delete(text)
      locked.freed.resolve()
    }
  }

  /** Closes the connections after their last answers, at the latest after `timeoutMs`. */
  async end(timeoutMs: number): Promise<void> {
    await Promise.all([this.#usual.end(timeoutMs), this.#waiting.end(timeoutMs)])
  }
}

/** Error for a look-up that waits in vain. Its code makes the hub answer as for every lock that is held for too long. */
function heldTooLong(message: string): Error {
  return Object.assign(new Error(message), { code: '55P03' })
}
