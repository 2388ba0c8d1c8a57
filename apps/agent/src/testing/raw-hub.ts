import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { decodeFrame, encodeFrame, type Frame, MAGIC } from '@muster/link'
import { type WebSocket, WebSocketServer } from 'ws'

/** A Hello as every hub sends it. */
export const HELLO: Frame = { type: 'Hello', magic: MAGIC, info: new Uint8Array() }

/** What a hub gives a channel at its start. */
export const CREDIT = { frameCredit: 128, byteCredit: 16_384 }

const DEVICE =
  '{"result":"Ok","value":{"actor":{"actor":"Device","deviceId":"d_z7L73xZdkkMgwbAmTVcyXu","tokenId":"deployment_id_H3CwhLpqjTTt1An8PR7aCw"}}}'

/** One connection to a hub that says what the test says. */
export class RawConnection {
  readonly webSocket: WebSocket
  readonly socket: Socket
  /** Frames of the agent so far. */
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

  /** Frames of one kind. */
  framesOf<T extends Frame['type']>(type: T): Extract<Frame, { type: T }>[] {
    return this.received.filter(frame => frame.type === type) as Extract<Frame, { type: T }>[]
  }

  /** Accepts the agent's first channel as number 1 and answers its first request, by default with who it is. */
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

  /** Waits for something in what was received; rejects when the agent goes before. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.isClosed) throw new Error('the agent ended the connection')
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
}

/** A hub on a real socket that lets the test do everything; its first connection is the misbehaving one. */
export async function rawHub(
  behave: (connection: RawConnection) => unknown,
): Promise<AsyncDisposable & { url: string; connections: RawConnection[] }> {
  const connections: RawConnection[] = []
  const webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  const server: Server = createServer().listen(0, '127.0.0.1')
  server.on('upgrade', (request, socket: Socket, head) =>
    webSockets.handleUpgrade(request, socket, head, webSocket => {
      const connection = new RawConnection(webSocket, socket)
      // Later connections are good ones, as far as they go.
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
