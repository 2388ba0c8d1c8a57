import { expect, it } from 'vitest'
import { WebSocketTransport } from './web-socket.ts'

/** A WebSocket and its socket, which record what is sent and written. */
function recorded() {
  const sent: Uint8Array[] = []
  const written: Uint8Array[] = []
  const webSocket = {
    readyState: 1,
    OPEN: 1,
    bufferedAmount: 0,
    send: (data: Uint8Array) => void sent.push(data),
    ping() {},
    close() {},
    terminate() {},
    on() {},
  }
  const socket = { cork() {}, uncork() {}, write: (data: Uint8Array) => written.push(data), on() {} }
  return { webSocket, socket, sent, written }
}

it.each([
  [0, '8200'],
  [1, '8201'],
  [125, '827d'],
  [126, '827e007e'],
  [255, '827e00ff'],
  [256, '827e0100'],
  [4096, '827e1000'],
])('a server writes a message of %i bytes as one frame', (length, header) => {
  const { webSocket, socket, sent, written } = recorded()
  const message = Buffer.alloc(length, 'm')
  new WebSocketTransport(webSocket, socket, { isServer: true }).send(message)
  expect(written).toEqual([Buffer.concat([Buffer.from(header, 'hex'), message])])
  expect(sent).toEqual([])
})

it('longer messages, those of clients and those after the end are left to the WebSocket', () => {
  const { webSocket, socket, sent, written } = recorded()
  const server = new WebSocketTransport(webSocket, socket, { isServer: true })
  server.send(Buffer.alloc(4097))
  new WebSocketTransport(webSocket, socket).send(Buffer.alloc(1))
  expect(sent.map(({ length }) => length)).toEqual([4097, 1])
  webSocket.readyState = 2
  server.send(Buffer.alloc(1))
  expect([sent.length, written]).toEqual([2, []])
})
