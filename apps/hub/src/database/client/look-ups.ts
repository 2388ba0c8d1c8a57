import { Socket } from 'node:net'
import type pg from 'pg'
import { timeoutError } from './errors.ts'

/** `inFlight` look-ups have no answer yet; since `heardAtMs` none came though there were some. */
type Connection = { client: pg.Client; socket: Socket; inFlight: number; heardAtMs: number }

/**
 * Look-ups of all requests on one connection, sent one behind the other without waiting for answers. What is asked in one turn of
 * the event loop leaves in one write, since a write costs more than the rest of a look-up. A slow statement would hold the others
 * up, and has no place here.
 */
export class LookUps {
  readonly #open: (socket: Socket) => pg.Client
  readonly #idleMs: number
  readonly #onError: (error: Error) => void
  #connection: Promise<Connection> | undefined
  #isGathering = false
  #hasEnded = false

  /** `open` makes a client on a socket; a connection that nobody uses for `idleMs`, or that is silent for so long, is closed. */
  constructor(
    open: (socket: Socket) => pg.Client,
    { idleMs, onError }: { idleMs: number; onError: (error: Error) => void },
  ) {
    this.#open = open
    this.#idleMs = idleMs
    this.#onError = onError
  }

  /** Runs a statement; its rows. Rejects with what the database answers, or when it cannot be reached. */
  async select<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    this.#connection ??= this.#connect()
    const opening = this.#connection
    const connection = await opening
    const nowMs = performance.now()
    if (connection.inFlight === 0) connection.heardAtMs = nowMs
    // Who asks on and on keeps the socket from being idle, whether or not there is anybody to answer.
    else if (nowMs - connection.heardAtMs > this.#idleMs) {
      if (this.#connection === opening) this.#connection = undefined
      connection.socket.destroy(timeoutError(this.#idleMs))
      return this.select(text, values)
    }
    this.#gather(connection.socket)
    connection.inFlight++
    try {
      return (await connection.client.query<Row>(text, values)).rows
    } finally {
      connection.inFlight--
      connection.heardAtMs = performance.now()
    }
  }

  /** Closes the connection once all is answered, or the time is over. */
  async end(timeoutMs: number): Promise<void> {
    this.#hasEnded = true
    const connection = await this.#connection?.catch(() => undefined)
    const timer = setTimeout(() => connection?.socket.destroy(), timeoutMs)
    await connection?.client.end()
    clearTimeout(timer)
  }

  /** Keeps what is written from now on until all that is ready in this turn has had its say. */
  #gather(socket: Socket): void {
    if (this.#isGathering) return
    this.#isGathering = true
    socket.cork()
    setImmediate(() => {
      this.#isGathering = false
      socket.uncork()
    })
  }

  #connect(): Promise<Connection> {
    const socket = new Socket()
    const client = this.#open(socket)
    const forget = (): void => {
      if (this.#connection === connection) this.#connection = undefined
    }
    const connecting = async (): Promise<Connection> => {
      if (this.#hasEnded) throw new Error('The connections to the database are closed.')
      await client.connect()
      // Not before: until then it is the client's own deadline that counts, and one that is ended would never answer.
      socket.setTimeout(this.#idleMs, () => {
        forget()
        void client.end()
        // What is under way on a connection that has gone silent must not wait for a goodbye.
        socket.destroySoon()
      })
      return { client, socket, inFlight: 0, heardAtMs: 0 }
    }
    // The next look-up opens another one.
    client.on('error', error => {
      forget()
      this.#onError(error)
    })
    client.on('end', forget)
    const connection = connecting()
    connection.catch(forget)
    return connection
  }
}
