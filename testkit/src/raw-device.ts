import { once } from 'node:events'
import { decodeFrame, encodeFrame, type Frame, MAGIC } from '@muster/link'
import type { WebSocket } from 'ws'
import {
  type DeviceIdentity,
  deviceHeaders,
  deviceIdentity,
  type FakeDeviceOptions,
  openWebSocket,
} from './fake-device.ts'

/** A device that sends only frames which the test asks for. It does not answer frames of the hub automatically. */
export type RawDevice = AsyncDisposable & {
  identity: DeviceIdentity
  webSocket: WebSocket
  /** Frames received from the hub. */
  received: Frame[]
  send(...frames: Frame[]): void
  /** Sends Hello and requests an executor channel. Resolves to the hub's id of the channel, which frames to the hub must contain. */
  openExecutor(senderId?: number): Promise<number>
  /** Resolves when the connection is closed. */
  closed: Promise<void>
}

/** Connects a `RawDevice` to the hub. Rejects with `ConnectionRefused`. */
export async function rawDevice(options: FakeDeviceOptions): Promise<RawDevice> {
  const identity = options.identity ?? (await deviceIdentity())
  const { webSocket, early } = await openWebSocket(options.url, deviceHeaders(options, identity))
  const received = early.map(([data]) => decodeFrame(data))
  webSocket.on('message', (data: Buffer) => received.push(decodeFrame(data)))
  webSocket.on('error', () => {})
  const closed = new Promise<void>(done => webSocket.once('close', () => done()))
  const send = (...frames: Frame[]): void => {
    for (const frame of frames) webSocket.send(encodeFrame(frame))
  }
  return {
    identity,
    webSocket,
    received,
    send,
    closed,
    async openExecutor(senderId = 1) {
      if (senderId === 1) send({ type: 'Hello', magic: MAGIC, info: new Uint8Array() })
      const credit = { frameCredit: 128, byteCredit: 16_384 }
      send({ type: 'ChannelRequest', senderId, ...credit, endpoint: Buffer.from('executor') })
      for (;;) {
        for (const frame of received) {
          if (frame.type === 'ChannelAccept' && frame.receiverId === senderId) return frame.senderId
        }
        await Promise.race([once(webSocket, 'message'), closed])
        if (webSocket.readyState !== webSocket.OPEN) throw new Error('the hub ended the connection')
      }
    },
    async [Symbol.asyncDispose]() {
      webSocket.terminate()
      await closed
    },
  }
}
