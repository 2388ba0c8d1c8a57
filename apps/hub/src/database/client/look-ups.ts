import { Socket } from 'node:net'
import type pg from 'pg'
import type { Measures } from '../../runtime/measures.ts'
import { timeoutError } from './errors.ts'

/**
 * `inFlight` is the number of look-ups that wait for an answer. `lastAnswerAtMs` is the time of the last answer, or of the
 * first look-up after an idle time.
 */
type Connection = { client: pg.Client; socket: Socket; inFlight: number; lastAnswerAtMs: number }

type LookUpsOptions = {
  idleMs: number
  onError: (error: Error) => void
  measures?: Measures | undefined
}

/**
 * Pipelines the look-ups of all requests on one connection, without waiting for answers in between. All look-ups of one
 * event-loop turn leave in one write, because a write costs more than all other work of a look-up. Only fast statements belong
 * here: a slow statement delays all statements behind it.
 */
export class LookUps {
  readonly #open: (socket: Socket) => pg.Client
  readonly #idleMs: number
  readonly #onError: (error: Error) => void
  readonly #measures: Measures | undefined
  #connection: Promise<Connection> | undefined
  #isCorked = false
  #hasEnded = false

  /**
   * `open` makes a client on a socket. After `idleMs`, an unused connection is closed, and a connection whose look-ups get no
   * answer is destroyed.
   */
  constructor(open: (socket: Socket) => pg.Client, { idleMs, onError, measures }: LookUpsOptions) {
    this.#open = open
    this.#idleMs = idleMs
    this.#onError = onError
    this.#measures = measures
  }

  /** Runs a statement and resolves to its rows. Rejects with the database's error, or when the database cannot be reached. */
  async select<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    this.#connection ??= this.#connect()
    const opening = this.#connection
    const connection = await opening
    const nowMs = performance.now()
    if (connection.inFlight === 0) connection.lastAnswerAtMs = nowMs
    // Steady queries reset the socket's idle timer even when the server is dead, so unanswered time is checked separately.
    else if (nowMs - connection.lastAnswerAtMs > this.#idleMs) {
      if (this.#connection === opening) this.#connection = undefined
      connection.socket.destroy(timeoutError(this.#idleMs))
      return this.select(text, values)
    }
    this.#cork(connection.socket)
    connection.inFlight++
    try {
      return (await connection.client.query<Row>(text, values)).rows
    } finally {
      connection.inFlight--
      connection.lastAnswerAtMs = performance.now()
      this.#measures?.lookedUp(connection.lastAnswerAtMs - nowMs)
    }
  }

  /** Closes the connection after the last answer, at the latest after `timeoutMs`. */
  async end(timeoutMs: number): Promise<void> {
    this.#hasEnded = true
    const connection = await this.#connection?.catch(() => undefined)
    const timer = setTimeout(() => connection?.socket.destroy(), timeoutMs)
    await connection?.client.end()
    clearTimeout(timer)
  }

  /** Corks the socket until the end of this event-loop turn, so that all look-ups of the turn leave in one write. */
  #cork(socket: Socket): void {
    if (this.#isCorked) return
    this.#isCorked = true
    socket.cork()
    setImmediate(() => {
      this.#isCorked = false
      socket.uncork()
    })
  }

  #connect(): Promise<Connection> {
    const socket = new Socket()
    const client = this.#open(socket)
    const discard = (): void => {
      if (this.#connection === connection) this.#connection = undefined
    }
    const connecting = async (): Promise<Connection> => {
      if (this.#hasEnded) throw new Error('The connections to the database are closed.')
      await client.connect()
      // The idle timeout is set only after connecting. Until then the client's connection timeout applies. Ending a client
      // while it connects would leave the promise of `connect` pending forever.
      socket.setTimeout(this.#idleMs, () => {
        discard()
        void client.end()
        // `end` waits for the server, which may not answer. Destroying the socket rejects the look-ups in flight.
        socket.destroySoon()
      })
      return { client, socket, inFlight: 0, lastAnswerAtMs: 0 }
    }
    // The broken connection is not used again: the next look-up opens another connection.
    client.on('error', error => {
      discard()
      this.#onError(error)
    })
    client.on('end', discard)
    const connection = connecting()
    connection.catch(discard)
    return connection
  }
}
