import { Socket } from 'node:net'
import type pg from 'pg'
import { timeoutError } from './errors.ts'

/**
 * `inFlight` is the number of statements that wait for an answer. `lastAnswerAtMs` is the time of the last answer, or of the first statement
 * after an idle time. `queue` has the statements that wait for a place in flight: they get it with `true`, and `false` when the connection
 * has broken.
 */
type Connection = {
  client: pg.Client
  socket: Socket
  inFlight: number
  lastAnswerAtMs: number
  queue: ((hasPlace: boolean) => void)[]
}

type PipelineOptions = {
  idleMs: number
  onError: (error: Error) => void
  /** Maximum number of statements without an answer. Further statements wait until the connection has answered. */
  maxInFlight: number
}

/**
 * Sends statements over one connection without waiting for answers in between. All statements of one event-loop turn leave in one write,
 * because a write costs more than all other work of a look-up.
 */
export class Pipeline {
  readonly #open: (socket: Socket) => pg.Client
  readonly #options: PipelineOptions
  #connection: Promise<Connection> | undefined
  #count = 0
  #isCorked = false
  #hasEnded = false

  /**
   * `open` makes a client on a socket. After `idleMs`, an unused connection is closed, and a connection whose statements get no
   * answer is destroyed.
   */
  constructor(open: (socket: Socket) => pg.Client, options: PipelineOptions) {
    this.#open = open
    this.#options = options
  }

  /** Number of statements without an answer, including those that wait for a place in flight. */
  get count(): number {
    return this.#count
  }

  /**
   * Runs a statement and resolves to its rows. Resolves to undefined, without running the statement, if `isWanted` is false when the
   * statement could be sent. Rejects with the database's error, or when the database cannot be reached.
   */
  async select<Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[],
    isWanted: () => boolean = () => true,
  ): Promise<Row[] | undefined> {
    this.#count++
    try {
      for (;;) {
        if (!isWanted()) return undefined
        this.#connection ??= this.#connect()
        const opening = this.#connection
        const connection = await opening
        const nowMs = performance.now()
        if (connection.inFlight === 0) connection.lastAnswerAtMs = nowMs
        // Steady queries reset the socket's idle timer even when the server is dead, so unanswered time is checked separately.
        else if (nowMs - connection.lastAnswerAtMs > this.#options.idleMs) {
          if (this.#connection === opening) this.#connection = undefined
          connection.socket.destroy(timeoutError(this.#options.idleMs))
          continue
        }
        if (connection.inFlight < this.#options.maxInFlight) connection.inFlight++
        else if (!(await new Promise<boolean>(resume => connection.queue.push(resume)))) continue
        return await this.#send<Row>(connection, text, values, isWanted)
      }
    } finally {
      this.#count--
    }
  }

  /** Sends a statement that has a place in flight, and gives the place back. */
  #send<Row extends pg.QueryResultRow>(
    connection: Connection,
    text: string,
    values: unknown[],
    isWanted: () => boolean,
  ): Promise<Row[] | undefined> {
    const leave = (): void => {
      // The place goes to the oldest waiting statement, so that no later statement takes it first.
      const next = connection.queue.shift()
      if (next) next(true)
      else connection.inFlight--
    }
    if (!isWanted()) {
      leave()
      return Promise.resolve(undefined)
    }
    this.#cork(connection.socket)
    const answered = (): void => {
      connection.lastAnswerAtMs = performance.now()
      leave()
    }
    return connection.client.query<Row>(text, values).then(
      ({ rows }) => {
        answered()
        return rows
      },
      error => {
        answered()
        throw error
      },
    )
  }

  /** Closes the connection after the last answer, at the latest after `timeoutMs`. */
  async end(timeoutMs: number): Promise<void> {
    this.#hasEnded = true
    const connection = await this.#connection?.catch(() => undefined)
    const timer = setTimeout(() => connection?.socket.destroy(), timeoutMs)
    await connection?.client.end()
    clearTimeout(timer)
  }

  /** Corks the socket until the end of this event-loop turn, so that all statements of the turn leave in one write. */
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
    const { idleMs, onError } = this.#options
    const socket = new Socket()
    const client = this.#open(socket)
    const queue: Connection['queue'] = []
    const discard = (): void => {
      if (this.#connection === connection) this.#connection = undefined
      for (const resume of queue.splice(0)) resume(false)
    }
    const connecting = async (): Promise<Connection> => {
      if (this.#hasEnded) throw new Error('The connections to the database are closed.')
      await client.connect()
      // The idle timeout is set only after connecting. Until then the client's connection timeout applies. Ending a client
      // while it connects would leave the promise of `connect` pending forever.
      socket.setTimeout(idleMs, () => {
        discard()
        void client.end()
        // `end` waits for the server, which may not answer. Destroying the socket rejects the statements in flight.
        socket.destroySoon()
      })
      return { client, socket, inFlight: 0, lastAnswerAtMs: 0, queue }
    }
    // The broken connection is not used again: the next statement opens another connection.
    client.on('error', error => {
      discard()
      onError(error)
    })
    client.on('end', discard)
    const connection = connecting()
    connection.catch(discard)
    return connection
  }
}
