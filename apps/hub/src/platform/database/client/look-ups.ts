import type { Socket } from 'node:net'
import type pg from 'pg'
import type { Measures } from '../../runtime/measures.ts'
import { isLockTimeout, isUnprepared } from './errors.ts'
import { Pipeline } from './pipeline.ts'

/** Connection of look-ups: `usual` gives up a look-up that waits for a lock, and `waiting` waits for it. */
export type LookUpLane = 'usual' | 'waiting'

/**
 * Time for which a look-up waits for a lock on the usual connection, in milliseconds. All look-ups behind it wait as well. Any wait is too
 * long there, and PostgreSQL accepts whole milliseconds.
 */
export const LOOK_UP_LOCK_MS = 1
/**
 * Maximum number of look-ups without an answer on the usual connection. All of them may need the same locked table, so they hold up others
 * for at most 48 ms.
 */
const MAX_IN_FLIGHT = 48
/** Maximum number of look-ups that wait for locks. */
const MAX_WAITING = 1_000

type LookUpsOptions = {
  idleMs: number
  onError: (error: Error) => void
  measures?: Measures | undefined
}

/**
 * Runs the look-ups of all requests on one pipelined connection. Only fast statements belong here: a slow statement delays all statements
 * behind it. A look-up that needs a locked table moves to a second connection, and so do all further look-ups with its text until one of
 * them has got its rows. So look-ups of other tables go on while a table is locked.
 */
export class LookUps {
  readonly #usual: Pipeline
  readonly #waiting: Pipeline
  readonly #measures: Measures | undefined
  /** Texts of look-ups that wait for a lock. */
  readonly #locked = new Set<string>()

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
      this.#locked.add(text)
      return undefined
    }
  }

  async #wait<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    if (this.#waiting.count >= MAX_WAITING) throw tooManyWaiting()
    const rows = await this.#waiting.select<Row>(text, values)
    this.#locked.delete(text)
    return rows!
  }

  /** Closes the connections after their last answers, at the latest after `timeoutMs`. */
  async end(timeoutMs: number): Promise<void> {
    await Promise.all([this.#usual.end(timeoutMs), this.#waiting.end(timeoutMs)])
  }
}

/** Error for a look-up beyond `MAX_WAITING`. Its code makes the hub answer as for every lock that is held for too long. */
function tooManyWaiting(): Error {
  const message = `More than ${MAX_WAITING} look-ups wait for a locked table.`
  return Object.assign(new Error(message), { code: '55P03' })
}
