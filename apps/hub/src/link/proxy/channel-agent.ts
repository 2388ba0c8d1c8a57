import { Agent } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ForwardCounts } from '../../platform/runtime/measures.ts'
import { openPort, type ReachableDevice } from '../links/registry.ts'
import { AnswerReader } from './answer-reader.ts'
import { ChannelSocket } from './channel-socket.ts'
import type { Protocol } from './proxy-tokens.ts'
import { openTls } from './tls-channel.ts'

/** Limit of concurrent requests to one port of a device. It is below the limit of the published Nexigon agents (docs/protocol.md 3.3). */
export const MAX_REQUESTS_PER_PORT = 8
/** Time for which an idle connection is kept for the next request, in milliseconds. Each connection uses a channel of the device's link. */
const KEEP_MS = 4_000

/** Opens a channel to a port of a device for each connection that Node's HTTP client needs, and keeps it for later requests. */
export class ChannelAgent extends Agent {
  readonly #session: ReachableDevice
  readonly #port: number
  readonly #protocol: Protocol
  readonly #counts: ForwardCounts | undefined

  constructor(session: ReachableDevice, port: number, protocol: Protocol, counts?: ForwardCounts) {
    super({ keepAlive: true, maxFreeSockets: MAX_REQUESTS_PER_PORT, timeout: KEEP_MS })
    this.#session = session
    this.#port = port
    this.#protocol = protocol
    this.#counts = counts
  }

  override createConnection(
    _options: unknown,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#open().then(
      socket => done?.(null, socket),
      error => done?.(error as Error, undefined as never),
    )
  }

  async #open(): Promise<ChannelSocket> {
    const answers = new AnswerReader()
    // The connection under TLS counts its bytes.
    return this.#protocol === 'https'
      ? new ChannelSocket(await openTls(this.#session, this.#port, this.#counts), undefined, answers)
      : new ChannelSocket(await openPort(this.#session, this.#port), this.#counts, answers)
  }

  /** Closes idle connections, so that the next request gets a new connection. */
  closeIdle(): void {
    for (const socket of Object.values(this.freeSockets).flat()) socket?.destroy()
  }
}
