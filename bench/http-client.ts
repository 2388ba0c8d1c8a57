// HTTP load client, forked by a bench. It uses raw keep-alive sockets to save processor time, because it shares the machine with
// the measured hub.
import { connect, type Socket } from 'node:net'
import { answering, quantile } from './child.ts'

/**
 * A load of equal requests, except that `{n}` and `{address}` in headers or body are replaced by a new number and client IP for
 * each request.
 */
export type HttpLoad = {
  host: string
  port: number
  path: string
  headers: Record<string, string>
  body: string
  /** Number of connections. Each connection sends its next request after the response to its previous request. */
  connections: number
  secs: number
  /**
   * Total number of requests per second on a fixed schedule. The latency of a request is then measured from the time when it was due. If
   * undefined, each connection sends without pauses.
   */
  perSec?: number
}

/** An HTTP request, without the parameters of the load (connections, duration, rate). */
export type HttpRequest = Omit<HttpLoad, 'connections' | 'secs' | 'perSec'>

export type HttpRun = {
  answers: number
  perSec: number
  p50Ms: number
  p95Ms: number
  p99Ms: number
  /** Number of responses by status code. */
  statuses: Record<string, number>
}

/**
 * Number of requests with replaced `{n}` or `{address}` in all runs. It continues over runs, so that no two requests are the
 * same.
 */
let varied = 0

answering(run)

async function run(load: HttpLoad): Promise<HttpRun> {
  const request = Buffer.from(requestText(load))
  const varies = request.includes('{n}') || request.includes('{address}')
  const latencies: number[] = []
  const statuses: Record<string, number> = {}
  const started = performance.now()
  const end = started + load.secs * 1000
  let sent = 0
  /** Returns the due time of the next request, or undefined if the run is over. */
  const nextDue = (): number | undefined => {
    const due = load.perSec === undefined ? performance.now() : started + (sent * 1000) / load.perSec
    if (due >= end) return undefined
    sent++
    return due
  }
  const worker = async (): Promise<void> => {
    const connection = await Connection.open(load)
    for (let due = nextDue(); due !== undefined; due = nextDue()) {
      const early = due - performance.now()
      if (early > 0) await new Promise(done => setTimeout(done, early))
      const status = await connection.exchange(varies ? Buffer.from(requestText(load, varied++)) : request)
      latencies.push(performance.now() - due)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: load.connections }, worker))
  const secs = (performance.now() - started) / 1000
  latencies.sort((a, b) => a - b)
  return {
    answers: latencies.length,
    perSec: latencies.length / secs,
    p50Ms: quantile(latencies, 0.5),
    p95Ms: quantile(latencies, 0.95),
    p99Ms: quantile(latencies, 0.99),
    statuses,
  }
}

function requestText({ host, port, path, headers, ...load }: HttpLoad, number?: number): string {
  const vary = (text: string): string =>
    number === undefined
      ? text
      : text.replaceAll('{n}', String(number)).replaceAll('{address}', address(number))
  const body = vary(load.body)
  const lines = Object.entries({
    host: `${host}:${port}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${vary(value)}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** Maps a number to one of the 16 million addresses in 10.0.0.0/8. */
function address(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
}

/** A keep-alive connection. Responses must have a `Content-Length`, as the hub's responses do. */
class Connection {
  readonly #socket: Socket
  #received = ''
  #answered: ((status: string) => void) | undefined
  #failed: ((error: Error) => void) | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1').setNoDelay(true)
    socket.on('data', (text: string) => this.#read(text))
    socket.on('error', error => this.#failed?.(error))
    socket.on('close', () => this.#failed?.(new Error('the connection was closed')))
  }

  static open({ host, port }: HttpLoad): Promise<Connection> {
    return new Promise((done, failed) => {
      const socket = connect(port, host, () => done(new Connection(socket)))
      socket.once('error', failed)
    })
  }

  /** Sends a request; resolves to the status of the response. */
  exchange(request: Buffer): Promise<string> {
    return new Promise((done, failed) => {
      this.#answered = done
      this.#failed = failed
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#failed = undefined
    this.#socket.destroy()
  }

  #read(text: string): void {
    this.#received += text
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1])
    if (this.#received.length < headEnd + 4 + length) return
    const status = this.#received.slice(9, 12)
    this.#received = ''
    this.#answered?.(status)
  }
}
