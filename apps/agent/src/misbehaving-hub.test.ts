import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { encodeFrame, type Frame, MAGIC } from '@muster/link'
import { describe, expect, it, vi } from 'vitest'
import { runAgent } from './agent.ts'
import { configFromOptions } from './config.ts'
import { createLog } from './log.ts'
import { instantClock } from './testing/instant-clock.ts'
import { CREDIT, HELLO, type RawConnection, rawHub } from './testing/raw-hub.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

// Protocol violations by a hub (docs/protocol.md 2.11, 3.2, 10): the agent ends the connection, logs the reason, and reconnects.

const EMPTY = new Uint8Array()
const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 25_000 })

async function withAgent(behave: (connection: RawConnection) => unknown) {
  const folder = await temporaryFolder()
  const hub = await rawHub(behave)
  const stop = new AbortController()
  const reasons: string[] = []
  const connected: string[] = []
  const running = runAgent({
    ...configFromOptions({
      hub: hub.url,
      token: `deployment_${'1'.repeat(66)}`,
      data: join(folder.path, 'data'),
    }),
    publishSystemInfo: false,
    signal: stop.signal,
    log: createLog({ level: 'error', write: () => {} }),
    clock: instantClock(),
    onConnected: ({ deviceId }) => connected.push(deviceId),
    onDisconnected: ({ reason }) => reasons.push(reason),
  })
  return {
    hub,
    reasons,
    connected,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
      await hub[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const raw =
  (...bytes: number[]) =>
  ({ socket }: RawConnection) =>
    void socket.write(Buffer.from(bytes))
const request = (senderId: number, endpoint: string | Uint8Array): Frame => ({
  type: 'ChannelRequest',
  senderId,
  ...CREDIT,
  endpoint: Buffer.from(endpoint),
})
const afterHello =
  (...frames: Frame[]) =>
  (connection: RawConnection) =>
    connection.send(HELLO, ...frames)
const admitted = (then: (connection: RawConnection) => unknown) => async (connection: RawConnection) => {
  await connection.admit()
  await then(connection)
}

const fatal: [string, RegExp, (connection: RawConnection) => unknown][] = [
  ['a text message', /broke the protocol \(text message\)/, ({ webSocket }) => webSocket.send('hello')],
  ['an empty message', /broke the protocol/, ({ webSocket }) => webSocket.send(EMPTY)],
  ['another frame before its Hello', /first frame is no Hello/, hub => hub.send({ type: 'Ping' })],
  [
    'the magic of another protocol',
    /wrong protocol magic/,
    hub => hub.send({ type: 'Hello', magic: randomBytes(16), info: EMPTY }),
  ],
  [
    'an over-long Hello',
    /control payload too large/,
    hub => hub.send({ type: 'Hello', magic: MAGIC, info: new Uint8Array(4097) }),
  ],
  ['a second Hello', /second Hello/, afterHello(HELLO)],
  [
    'a frame of an unknown kind',
    /unknown frame tag/,
    ({ webSocket }) => {
      webSocket.send(encodeFrame(HELLO))
      webSocket.send(Buffer.from([0x16, 0, 0, 0, 0, 0, 0, 0, 1]))
    },
  ],
  [
    'a frame that is too short',
    /too short/,
    hub => {
      hub.send(HELLO)
      hub.webSocket.send(Buffer.from([0x14, 0]))
    },
  ],
  [
    'a frame over 1 MiB and nine bytes',
    /frame too large/,
    hub => hub.send(HELLO, { type: 'ChannelData', receiverId: 1, payload: new Uint8Array(1024 * 1024 + 1) }),
  ],
  ['a Pong without a Ping', /pong without ping/, afterHello({ type: 'Pong' })],
  [
    'more than eight Pings a second',
    /too many pings/,
    afterHello(...Array.from({ length: 9 }, (): Frame => ({ type: 'Ping' }))),
  ],
  [
    'an Accept without a request',
    /accept without request/,
    afterHello({ type: 'ChannelAccept', receiverId: 99, senderId: 1, ...CREDIT }),
  ],
  [
    'a Reject without a request',
    /reject without request/,
    afterHello({ type: 'ChannelReject', receiverId: 99, reason: EMPTY }),
  ],
  ['a channel with the number 0', /channel id 0/, afterHello(request(0, 'forward/tcp/80'))],
  [
    'more than 64 channel requests a second',
    /too many channel requests/,
    // More than twice 64, because a second may end between two of the requests.
    afterHello(...Array.from({ length: 129 }, (_, id) => request(id + 1, 'x'))),
  ],
  [
    'many frames for unknown channels',
    /unknown channels/,
    afterHello(
      ...Array.from(
        { length: 257 },
        (_, id): Frame => ({
          type: 'ChannelClose',
          receiverId: 1000 + id,
          reason: EMPTY,
        }),
      ),
    ),
  ],
  [
    'more bytes than its credit',
    /credit exceeded/,
    admitted(hub => hub.send({ type: 'ChannelData', receiverId: 1, payload: new Uint8Array(40_000) })),
  ],
  [
    'credit beyond 32 bits',
    /credit overflow/,
    admitted(hub => {
      const adjust: Frame = { type: 'ChannelAdjust', receiverId: 1, frameCredit: 0xffffffff, byteCredit: 1 }
      hub.send(adjust, adjust)
    }),
  ],
  [
    'a goodbye',
    /^the hub ended the connection: bye$/,
    afterHello({ type: 'Close', reason: Buffer.from('bye') }),
  ],
  [
    'an over-long Close',
    /control payload too large/,
    afterHello({ type: 'Close', reason: new Uint8Array(5000) }),
  ],
  [
    'only the close of its WebSocket',
    /lost \(WebSocket closed with 1001\)/,
    ({ webSocket }) => webSocket.close(1001),
  ],
  ['a reset', /^the connection was lost/, ({ socket }) => socket.resetAndDestroy()],
  ['a masked frame', /MASK must be clear/, raw(0x82, 0x81, 0, 0, 0, 0, 0x20)],
  ['a compressed frame', /RSV1 must be clear/, raw(0xc2, 0x01, 0x20)],
  ['a reserved opcode', /invalid opcode/, raw(0x83, 0x00)],
  ['HTTP', /Invalid WebSocket frame/, ({ socket }) => socket.write('HTTP/1.1 200 OK\r\n\r\n')],
  [
    'a Reject of the executor',
    /too busy/,
    async hub => {
      hub.send(HELLO)
      await hub.until(() => hub.framesOf('ChannelRequest').length > 0)
      hub.send({ type: 'ChannelReject', receiverId: 1, reason: Buffer.from('too busy') })
    },
  ],
  ['an answer that is no JSON', /no JSON/, hub => hub.admit('<html>')],
  ['an answer with a third key', /no envelope/, hub => hub.admit('{"result":"Ok","value":{},"more":1}')],
  [
    'an error',
    /no such token/,
    hub => hub.admit('{"result":"Error","error":{"kind":"Forbidden","message":"no such token"}}'),
  ],
  [
    'an actor that is no device',
    /takes this connection for User/,
    hub => hub.admit('{"result":"Ok","value":{"actor":{"actor":"User","userId":"u_1"}}}'),
  ],
  [
    'an answer over 8 MiB',
    /over 8 MiB/,
    async hub => {
      hub.send(HELLO)
      await hub.until(() => hub.framesOf('ChannelRequest').length > 0)
      hub.send({ type: 'ChannelAccept', receiverId: 1, senderId: 1, ...CREDIT })
      await hub.until(() => hub.framesOf('ChannelData').length > 0)
      hub.send({ type: 'ChannelData', receiverId: 1, payload: Buffer.from([0x00, 0x80, 0x00, 0x01]) })
    },
  ],
  [
    'the end of the executor in the middle of an answer',
    /closed the executor/,
    async hub => {
      hub.send(HELLO)
      await hub.until(() => hub.framesOf('ChannelRequest').length > 0)
      hub.send({ type: 'ChannelAccept', receiverId: 1, senderId: 1, ...CREDIT })
      await hub.until(() => hub.framesOf('ChannelData').length > 0)
      hub.send(
        { type: 'ChannelData', receiverId: 1, payload: Buffer.from([0, 0, 0, 99, 0x7b]) },
        { type: 'ChannelClosed', receiverId: 1, reason: EMPTY },
      )
    },
  ],
]

describe('a hub that sends', () => {
  it.each(fatal)('%s is disconnected by the agent, which then reconnects', async (_what, reason, behave) => {
    await using agent = await withAgent(behave)
    await soon(() => expect(agent.hub.connections.length).toBeGreaterThan(1))
    expect(agent.reasons[0]).toMatch(reason)
    await soon(() => expect(agent.connected.length).toBeGreaterThan(0))
    await soon(() => expect(agent.hub.connections[0]!.isClosed).toBe(true))
  })
})

const bearable: [string, (connection: RawConnection) => unknown][] = [
  [
    'an Adjust of 0 frames and 0 bytes',
    hub => hub.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 0 }),
  ],
  ['data without bytes', hub => hub.send({ type: 'ChannelData', receiverId: 1, payload: EMPTY })],
  [
    'a few frames for unknown channels',
    hub => {
      for (let id = 0; id < 100; id++)
        hub.send({ type: 'ChannelClosed', receiverId: 1000 + id, reason: EMPTY })
    },
  ],
  ['eight Pings at once', hub => hub.send(...Array.from({ length: 8 }, (): Frame => ({ type: 'Ping' })))],
]

describe('a hub that sends', () => {
  it.each(bearable)('%s keeps its connection', async (_what, behave) => {
    await using agent = await withAgent(admitted(behave))
    await soon(() => expect(agent.connected).toHaveLength(1))
    const [connection] = agent.hub.connections
    // The agent handles frames in order, so a rejection of this request proves that the agent has handled all earlier frames.
    connection!.send(request(77, 'nothing'))
    await soon(() => expect(connection!.framesOf('ChannelReject')).toHaveLength(1))
    expect(agent.reasons).toEqual([])
    expect(connection!.framesOf('Pong')).toHaveLength(_what === 'eight Pings at once' ? 8 : 0)
  })

  it.each<[string, string | Uint8Array, string]>([
    ['an unknown endpoint', 'terminal/root', 'unknown endpoint'],
    ['bytes that are no UTF-8', Uint8Array.of(0xff, 0xfe), 'invalid endpoint'],
    ['an invalid port', 'forward/tcp/65536', 'invalid TCP forwarding endpoint'],
    ['a port in words', 'forward/tcp/http', 'invalid TCP forwarding endpoint'],
    ['an over-long endpoint', 'x'.repeat(4097), 'channel endpoint too large'],
  ])('a request for %s gets its reason', async (_what, endpoint, reason) => {
    await using agent = await withAgent(admitted(hub => hub.send(request(5, endpoint))))
    await soon(() =>
      expect(agent.hub.connections[0]?.framesOf('ChannelReject')).toMatchObject([
        { receiverId: 5, reason: expect.any(Uint8Array) },
      ]),
    )
    const [rejected] = agent.hub.connections[0]!.framesOf('ChannelReject')
    expect(Buffer.from(rejected!.reason).toString()).toBe(reason)
    expect(agent.reasons).toEqual([])
  })

  it('the end of data right after an answer still delivers the answer', async () => {
    await using agent = await withAgent(async hub => {
      await hub.admit()
      hub.send({ type: 'ChannelClosed', receiverId: 1, reason: EMPTY })
    })
    await soon(() => expect(agent.connected).toHaveLength(1))
  })

  it('an answer byte by byte still delivers it', async () => {
    await using agent = await withAgent(async hub => {
      const { send } = hub
      hub.send = (...frames) => {
        for (const frame of frames)
          if (frame.type !== 'ChannelData') send.call(hub, frame)
          else
            for (const byte of frame.payload.subarray(0, 100))
              send.call(hub, { ...frame, payload: Uint8Array.of(byte) })
      }
      await hub.admit(
        '{"result":"Ok","value":{"actor":{"actor":"Device","deviceId":"d_z7L73xZdkkMgwbAmTVcyXu"}}}',
      )
    })
    await soon(() => expect(agent.connected).toHaveLength(1))
  })
})
