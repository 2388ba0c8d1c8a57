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

/** A device that says what the test says, frame by frame, and answers nothing by itself. */
export type RawDevice = AsyncDisposable & {
  identity: DeviceIdentity
  webSocket: WebSocket
  /** Frames of the hub so far. */
  received: Frame[]
  send(...frames: Frame[]): void
  /** Sends a Hello and asks for an executor channel, whose number at the hub it returns. */
  openExecutor(senderId?: number): Promise<number>
  /** Resolves when the hub ended the connection. */
  closed: Promise<void>
}

/** Connects a device that is nothing but its socket. Rejects with `ConnectionRefused`. */
export async function rawDevice(options: FakeDeviceOptions): Promise<RawDevice> {
  const identity = options.identity ?? (await deviceIdentity())
  const { webSocket, early } = await openWebSocket(options.url, deviceHeaders(options, identity))
  const received = early.map(([data]) => decodeFrame(data))
  webSocket.on('message', (data: Buffer) => received.push(decodeFrame(data)))
  webSocket.on('error', () => {})
  const closed = once(webSocket, 'close').then(() => {})
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
