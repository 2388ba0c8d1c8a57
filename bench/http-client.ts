// An HTTP load client of raw keep-alive sockets, forked by a bench, so that the client's share of the two cores is small.
import { connect, type Socket } from 'node:net'

export type HttpLoad = {
  host: string
  port: number
  path: string
  headers: Record<string, string>
  body: string
  /** So many requests at once, each connection sending its next one when the answer is there… */
  connections: number
  secs: number
  /** …or, when given, so many requests a second in all on a fixed schedule, latency counted from when each was due. */
  perSec?: number
}

export type HttpRun = {
  perSec: number
  p50Ms: number
  p95Ms: number
  p99Ms: number
  /** Number of answers by status. */
  statuses: Record<string, number>
}

process.on('message', (load: HttpLoad) => {
  run(load).then(
    result => process.send!({ result }),
    error => process.send!({ error: String(error) }),
  )
})

async function run(load: HttpLoad): Promise<HttpRun> {
  const request = Buffer.from(requestText(load))
  const latencies: number[] = []
  const statuses: Record<string, number> = {}
  const started = performance.now()
  const end = started + load.secs * 1000
  let sent = 0
  /** When the next request is due, or nothing when the time is over. */
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
      const status = await connection.exchange(request)
      latencies.push(performance.now() - due)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: load.connections }, worker))
  const secs = (performance.now() - started) / 1000
  latencies.sort((a, b) => a - b)
  const quantile = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0
  return {
    perSec: latencies.length / secs,
    p50Ms: quantile(0.5),
    p95Ms: quantile(0.95),
    p99Ms: quantile(0.99),
    statuses,
  }
}

function requestText({ host, port, path, headers, body }: HttpLoad): string {
  const lines = Object.entries({
    host: `${host}:${port}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** One keep-alive connection; answers must have a content length, which the hub's have. */
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

  /** Sends a request; resolves to the status of its answer. */
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
