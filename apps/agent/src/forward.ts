import { connect, type Socket } from 'node:net'
import { type ChannelRequest, pipeSocket } from '@muster/link'
import { codeOf } from './describe-error.ts'
import type { Log } from './log.ts'

const CONNECT_TIMEOUT_MS = 10_000
const MAX_FORWARDS = 24

type ForwardOptions = {
  log: Log
  maxForwards?: number
}

/** Connects channels that the hub opens at the endpoint `forward/tcp/<port>` to this port of the device (docs/protocol.md 3.3). */
export class ForwardService {
  readonly #log: Log
  readonly #maxForwards: number
  #count = 0

  constructor({ log, maxForwards = MAX_FORWARDS }: ForwardOptions) {
    this.#log = log
    this.#maxForwards = maxForwards
  }

  /** Number of forwarded connections, including those whose socket is still connecting. */
  get count(): number {
    return this.#count
  }

  /** Handles a channel request of the hub; never throws. */
  handle(request: ChannelRequest): void {
    const port = forwardPort(request.endpoint)
    if (typeof port === 'string') request.reject(port)
    else if (this.#count >= this.#maxForwards) request.reject('too many concurrent TCP forwardings')
    else void this.#forward(request, port)
  }

  async #forward(request: ChannelRequest, port: number): Promise<void> {
    this.#count++
    try {
      const socket = await connectLocally(port)
      // The hub may have withdrawn the channel request while the socket was connecting.
      if (request.isPending) await pipeSocket(request.accept(), socket)
      else socket.destroy()
    } catch (error) {
      this.#log.debug(`forward to port ${port} failed: ${codeOf(error) ?? String(error)}`)
      request.reject(
        codeOf(error) === 'ETIMEDOUT'
          ? 'local TCP forwarding target timed out'
          : 'local TCP forwarding target is unavailable',
      )
    } finally {
      this.#count--
    }
  }
}

/** Returns the port of a forward endpoint, or the reason to reject the endpoint (docs/protocol.md 3.3). */
export function forwardPort(
  endpoint: string,
): number | 'invalid TCP forwarding endpoint' | 'unknown endpoint' {
  const rest = endpoint.startsWith('forward/tcp/') ? endpoint.slice('forward/tcp/'.length) : undefined
  if (rest === undefined) return 'unknown endpoint'
  const port = /^\d{1,5}$/.test(rest) ? Number(rest) : Number.NaN
  return port <= 65535 ? port : 'invalid TCP forwarding endpoint'
}

/**
 * Connects to a port of this device: at 127.0.0.1, or at ::1 if the first refuses. Some services listen on only one of the loopback addresses. A
 * refusal is immediate, so both attempts end within the time that the hub waits. Rejects with the error of 127.0.0.1.
 */
async function connectLocally(port: number): Promise<Socket> {
  try {
    return await connectTo('127.0.0.1', port)
  } catch (error) {
    if (codeOf(error) !== 'ECONNREFUSED') throw error
    return connectTo('::1', port).catch(() => {
      throw error
    })
  }
}

async function connectTo(host: '127.0.0.1' | '::1', port: number): Promise<Socket> {
  // allowHalfOpen keeps each direction open after the other direction has ended.
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true })
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const timer = setTimeout(() => {
    reject(Object.assign(new Error('the local service does not answer'), { code: 'ETIMEDOUT' }))
    socket.destroy()
  }, CONNECT_TIMEOUT_MS)
  socket.once('connect', () => resolve(socket))
  socket.once('error', reject)
  socket.once('close', () => reject(new Error('the socket was closed')))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
