import { Agent } from 'node:http'
import type { Duplex } from 'node:stream'
import { type DeviceSession, openPort } from '../gateway/registry.ts'
import { ChannelSocket } from './channel-socket.ts'
import { MAX_UNDER_WAY } from './gate.ts'

/** How long an idle connection is kept for the next request, in milliseconds: each takes one of the device's channels. */
const KEEP_MS = 4_000

/** Opens a channel to a port of a device for each connection that Node's client wants, and keeps it for the next request. */
export class ChannelAgent extends Agent {
  readonly #session: DeviceSession
  readonly #port: number

  constructor(session: DeviceSession, port: number) {
    super({ keepAlive: true, maxFreeSockets: MAX_UNDER_WAY, timeout: KEEP_MS })
    this.#session = session
    this.#port = port
  }

  override createConnection(
    _options: unknown,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    openPort(this.#session, this.#port).then(
      channel => done?.(null, new ChannelSocket(channel)),
      error => done?.(error as Error, undefined as never),
    )
  }

  /** Ends the connections that are idle, so that the next request gets a new one. */
  closeIdle(): void {
    for (const socket of Object.values(this.freeSockets).flat()) socket?.destroy()
  }
}
