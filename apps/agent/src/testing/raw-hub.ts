import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { decodeFrame, encodeFrame, type Frame, MAGIC } from '@muster/link'
import { type WebSocket, WebSocketServer } from 'ws'

/** Hello frame that every hub sends. */
export const HELLO: Frame = { type: 'Hello', magic: MAGIC, info: new Uint8Array() }

/** Initial credit that a hub grants on a channel (docs/protocol.md R-8). */
export const CREDIT = { frameCredit: 128, byteCredit: 16_384 }

const DEVICE =
  '{"result":"Ok","value":{"actor":{"actor":"Device","deviceId":"d_z7L73xZdkkMgwbAmTVcyXu","tokenId":"deployment_id_H3CwhLpqjTTt1An8PR7aCw"}}}'

/** Connection of a fake hub to the agent. The test itself sends the hub's frames. */
export class RawConnection {
  readonly webSocket: WebSocket
  readonly socket: Socket
  readonly received: Frame[] = []
  isClosed = false

  constructor(webSocket: WebSocket, socket: Socket) {
    this.webSocket = webSocket
    this.socket = socket
    webSocket.on('message', (data: Buffer) => this.received.push(decodeFrame(data)))
    webSocket.on('error', () => {})
    webSocket.on('close', () => {
      this.isClosed = true
    })
  }

  send(...frames: Frame[]): void {
    for (const frame of frames) this.webSocket.send(encodeFrame(frame))
  }

  /** Received frames of one kind. */
  framesOf<T extends Frame['type']>(type: T): Extract<Frame, { type: T }>[] {
    return this.received.filter(frame => frame.type === type) as Extract<Frame, { type: T }>[]
  }

  /**
   * Accepts the agent's first channel under the id 1, and answers the first action on that channel, which is `actor_GetActor`. The default
   * answer says that the caller is a device.
   */
  async admit(answer = DEVICE): Promise<void> {
    this.send(HELLO)
    await this.until(() => this.framesOf('ChannelRequest').length > 0)
    this.send({ type: 'ChannelAccept', receiverId: 1, senderId: 1, ...CREDIT })
    await this.until(() => this.framesOf('ChannelData').length > 0)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(Buffer.byteLength(answer))
    const payload = Buffer.concat([length, Buffer.from(answer)])
    this.send({ type: 'ChannelData', receiverId: 1, payload })
  }

  /** Waits for a condition on the received frames. Rejects if the agent disconnects first. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.isClosed) throw new Error('the agent ended the connection')
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
}

/** Starts a hub on a real socket. `behave` controls the first connection. */
export async function rawHub(
  behave: (connection: RawConnection) => unknown,
): Promise<AsyncDisposable & { url: string; connections: RawConnection[] }> {
  const connections: RawConnection[] = []
  const webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  const server: Server = createServer().listen(0, '127.0.0.1')
  server.on('upgrade', (request, socket: Socket, head) =>
    webSockets.handleUpgrade(request, socket, head, webSocket => {
      const connection = new RawConnection(webSocket, socket)
      // Only the first connection misbehaves, so that a test can check that the agent reconnects.
      const behaviour = connections.push(connection) === 1 ? behave : () => connection.admit()
      void Promise.resolve(behaviour(connection)).catch(() => {})
    }),
  )
  await new Promise(resolve => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    async [Symbol.asyncDispose]() {
      for (const { webSocket } of connections) webSocket.terminate()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
