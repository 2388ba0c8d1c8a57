import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { encodeFrame, type Frame, MAGIC } from '@muster/link'
import { type Random, seededRandom } from '@muster/link/testing'
import {
  capturedLog,
  connectDevice,
  databaseSession,
  deviceHeaders,
  deviceIdentity,
  type FakeDevice,
  type RawDevice,
  rawDevice,
  socketOf,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'

const captured = capturedLog()
const hub = await testHub({}, captured.log)
const { token } = await hub.fleet()
let bystander: FakeDevice
beforeAll(async () => {
  bystander = await connectDevice({ url: hub.url, token })
})
afterAll(async () => {
  await bystander[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

// Checks after each test that another device still works, that no error was logged, and that no action panicked or stayed Pending.
afterEach(async () => {
  const { deviceId } = bystander
  expect(await bystander.invoke('devices_SetProperty', { deviceId, name: 'alive', value: 1 })).toEqual({
    result: 'Set',
  })
  expect(captured.lines.filter(({ level }) => level === 'error')).toEqual([])
  const unfinished = await hub.db
    .selectFrom('audit_action')
    .where('status', 'in', ['Panicked', 'Pending'])
    .selectAll()
    .execute()
  expect(unfinished).toEqual([])
})

const HELLO: Frame = { type: 'Hello', magic: MAGIC, info: new Uint8Array() }
const EMPTY = new Uint8Array()
const credit = { frameCredit: 128, byteCredit: 16_384 }

async function newDevice(): Promise<RawDevice & { deviceId: string }> {
  const from = captured.lines.length
  const device = await rawDevice({ url: hub.url, token })
  const line = await until('the device is admitted', () =>
    captured.lines.slice(from).find(({ msg }) => msg === 'device connected'),
  )
  return { ...device, deviceId: String(line.deviceId) }
}

async function endOf({ deviceId }: { deviceId: string }) {
  return until('the end is in the log', () =>
    captured.named('connection ended').find(line => line.deviceId === deviceId),
  )
}

function reasonOf({ received }: RawDevice): string | undefined {
  const close = received.find(frame => frame.type === 'Close')
  return close && Buffer.from(close.reason).toString()
}

describe('a device that violates the frame protocol loses its own connection', () => {
  const cases: [string, string, (device: RawDevice) => unknown][] = [
    ['a text message', 'text message', ({ webSocket }) => webSocket.send('hello')],
    [
      'a text message after its Hello',
      'text message',
      device => {
        device.send(HELLO)
        device.webSocket.send('{"jsonrpc":"2.0"}')
      },
    ],
    ['an empty message', 'frame', ({ webSocket }) => webSocket.send(EMPTY)],
    [
      'another frame before its Hello',
      'the first frame is no Hello',
      device => device.send({ type: 'Ping' }),
    ],
    [
      'a Hello with the magic of another protocol',
      'wrong protocol magic',
      device => device.send({ type: 'Hello', magic: randomBytes(16), info: EMPTY }),
    ],
    [
      'a Hello that is too short',
      'frame too short',
      ({ webSocket }) => webSocket.send(encodeFrame(HELLO).subarray(0, 16)),
    ],
    [
      'a Hello that is too long',
      'control payload too large',
      device => device.send({ type: 'Hello', magic: MAGIC, info: new Uint8Array(4097) }),
    ],
    ['a second Hello', 'second Hello', device => device.send(HELLO, HELLO)],
    [
      'a frame of an unknown kind',
      'frame',
      ({ webSocket }) => {
        webSocket.send(encodeFrame(HELLO))
        webSocket.send(Buffer.from([0x16, 0, 0, 0, 0, 0, 0, 0, 1]))
      },
    ],
    ['a Pong without a Ping', 'pong without ping', device => device.send(HELLO, { type: 'Pong' })],
    [
      'an Accept without a request',
      'accept without request',
      device => device.send(HELLO, { type: 'ChannelAccept', receiverId: 1, senderId: 1, ...credit }),
    ],
    [
      'a Reject without a request',
      'reject without request',
      device => device.send(HELLO, { type: 'ChannelReject', receiverId: 7, reason: EMPTY }),
    ],
    [
      'a channel with the number 0',
      'channel id 0',
      device =>
        device.send(HELLO, {
          type: 'ChannelRequest',
          senderId: 0,
          ...credit,
          endpoint: Buffer.from('executor'),
        }),
    ],
    [
      'a Close with a reason over 4,096 bytes',
      'control payload too large',
      device => device.send(HELLO, { type: 'Close', reason: new Uint8Array(5000) }),
    ],
    [
      'more than 128 data frames for unknown channels',
      'unknown channels',
      device => {
        device.send(HELLO)
        for (let id = 1; id <= 129; id++)
          device.send({ type: 'ChannelData', receiverId: id, payload: Buffer.from('x') })
      },
    ],
    [
      'more Pings than eight a second',
      'too many pings',
      device => {
        device.send(HELLO)
        // More than twice eight, because a second may end between two of them.
        for (let n = 0; n < 17; n++) device.send({ type: 'Ping' })
      },
    ],
    [
      'more channel requests than 1,024 a second',
      'too many channel requests',
      device => {
        device.send(HELLO)
        for (let id = 1; id <= 2_049; id++)
          device.send({ type: 'ChannelRequest', senderId: id, ...credit, endpoint: Buffer.from('nothing') })
      },
    ],
    [
      'more bytes than its credit',
      'credit exceeded',
      async device => {
        const receiverId = await device.openExecutor()
        device.send({ type: 'ChannelData', receiverId, payload: new Uint8Array(16_385) })
      },
    ],
    [
      'more frames than its credit',
      'credit exceeded',
      async device => {
        const receiverId = await device.openExecutor()
        // Each frame holds ten empty requests. The hub runs requests one after the other, so most frames stay unread and the later
        // frames exceed the credit.
        for (let n = 0; n < 400; n++)
          device.send({ type: 'ChannelData', receiverId, payload: new Uint8Array(60) })
      },
    ],
    [
      'credit beyond 32 bits',
      'credit overflow',
      async device => {
        const receiverId = await device.openExecutor()
        for (let n = 0; n < 2; n++)
          device.send({ type: 'ChannelAdjust', receiverId, frameCredit: 0xffffffff, byteCredit: 0xffffffff })
      },
    ],
  ]

  it.each(cases)('%s', async (_what, reason, misbehave) => {
    const device = await newDevice()
    await misbehave(device)
    await device.closed
    expect(reasonOf(device)).toContain(reason)
    expect(await endOf(device)).toMatchObject({
      level: 'warn',
      end: 'Violation',
      reason: expect.stringContaining(reason),
      deviceId: device.deviceId,
    })
  })

  it('but may send 100 data frames for unknown channels', async () => {
    const device = await newDevice()
    device.send(HELLO)
    for (let id = 1; id <= 100; id++)
      device.send({ type: 'ChannelData', receiverId: id, payload: Buffer.from('x') })
    await device.openExecutor(2)
    expect(device.received.map(({ type }) => type)).toEqual(['Hello', 'ChannelAccept'])
    await device[Symbol.asyncDispose]()
  })
})

describe('a device that violates the WebSocket protocol loses its own connection', () => {
  const cases: [string, string, (device: RawDevice) => unknown][] = [
    [
      'a message over the largest frame',
      'Max payload size exceeded',
      ({ webSocket }) => webSocket.send(new Uint8Array(1024 * 1024 + 10)),
    ],
    [
      'a frame without a mask',
      'MASK must be set',
      device => socketOf(device.webSocket).write(Buffer.from([0x82, 1, 0])),
    ],
    [
      'a reserved opcode',
      'invalid opcode',
      device => socketOf(device.webSocket).write(Buffer.from([0x83, 0x80, 0, 0, 0, 0])),
    ],
    [
      'a frame length over 2^53',
      'Unsupported WebSocket frame',
      device =>
        socketOf(device.webSocket).write(
          Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ),
    ],
    [
      'a compressed frame',
      'RSV1 must be clear',
      device => socketOf(device.webSocket).write(Buffer.from([0xc2, 0x80, 0, 0, 0, 0])),
    ],
    [
      'a close reason that is not UTF-8',
      'invalid UTF-8',
      device => {
        const mask = Buffer.alloc(4)
        socketOf(device.webSocket).write(Buffer.from([0x88, 0x84, ...mask, 0x03, 0xe8, 0xff, 0xff]))
      },
    ],
    [
      'an HTTP request',
      'Invalid WebSocket frame',
      device => socketOf(device.webSocket).write('GET / HTTP/1.1\r\n\r\n'),
    ],
  ]

  it.each(cases)('%s', async (_what, reason, misbehave) => {
    const device = await newDevice()
    device.send(HELLO)
    await misbehave(device)
    // The promise `closed` rejects if the hub itself sends an invalid WebSocket frame.
    await device.closed
    expect(await endOf(device)).toMatchObject({
      deviceId: device.deviceId,
      reason: expect.stringContaining(reason),
    })
  })

  it('a TCP reset', async () => {
    const device = await newDevice()
    socketOf(device.webSocket).resetAndDestroy()
    expect(await endOf(device)).toMatchObject({ end: 'TransportClosed' })
  })
})

describe('clients that disconnect while they are authenticated', () => {
  it('leave no session and no open connection row', async () => {
    await using session = await databaseSession(hub)
    await session.lock('deployment_token')
    const identities = await Promise.all(Array.from({ length: 20 }, () => deviceIdentity()))
    const sockets = identities.map(identity => {
      const socket = connect(hub.address.port, '127.0.0.1')
      socket.on('error', () => {})
      const headers = Object.entries(deviceHeaders({ url: hub.url, token }, identity))
      socket.write(
        [
          'GET /api/v1/connect/ws HTTP/1.1',
          'Host: hub',
          'Connection: Upgrade',
          'Upgrade: websocket',
          'Sec-WebSocket-Version: 13',
          'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
          ...headers.map(([name, value]) => `${name}: ${value}`),
          '\r\n',
        ].join('\r\n'),
      )
      return socket
    })
    // The look-up of the first client waits for the lock of `session`, and the look-ups of the other clients queue behind it.
    // The response to the health check shows that the hub has read all requests above.
    await session.waitingStatements(1)
    await fetch(`${hub.url}/healthz`)
    for (const [index, socket] of sockets.entries()) {
      if (index % 2 === 0) socket.resetAndDestroy()
      else socket.destroy()
    }
    const before = hub.devices.sessions.length
    await session.release()
    await until('their connections are closed', async () => {
      const open = await hub.db
        .selectFrom('device_connection')
        .where('ended_at', 'is', null)
        .select('connection_id')
        .execute()
      return open.length === 1 && hub.devices.sessions.length <= before
    })
  })
})

describe('a thousand connections of garbage', () => {
  const seed = inject('fuzzSeed')

  it(`are closed and do not harm the hub (seed ${seed})`, { timeout: 120_000 }, async () => {
    const identities = await Promise.all(Array.from({ length: 20 }, () => deviceIdentity()))
    for (let round = 0; round < 50; round++) {
      await Promise.all(
        identities.map(async (identity, index) => {
          const kind = (round + index) % 5
          const random = seededRandom(seed + round * identities.length + index)
          if (kind === 0) return rawGarbage(random)
          const device = await rawDevice({ url: hub.url, token, identity, register: kind !== 1 })
          if (kind === 1) socketOf(device.webSocket).write(garbage(random, 500))
          else if (kind === 2) device.webSocket.send(garbage(random, 500))
          else if (kind === 3) {
            device.send(HELLO)
            for (let n = 0; n < 20; n++) device.webSocket.send(mutatedFrame(random))
          } else {
            const receiverId = await device.openExecutor().catch(() => 1)
            device.send({ type: 'ChannelData', receiverId, payload: garbage(random, 2000) })
          }
          socketOf(device.webSocket).end()
          await device.closed
        }),
      )
    }
    await until('all of them are closed', () => hub.devices.sessions.length === 1)
    const names = new Set(captured.named('connection ended').map(({ deviceId }) => deviceId))
    expect(names.size).toBeGreaterThanOrEqual(20)
    expect(names).not.toContain(undefined)
    const response = await fetch(`${hub.url}/readyz`)
    expect(response.status).toBe(200)
  })

  /** Returns fewer than `below` bytes of random content, and at least one. */
  function garbage(random: Random, below: number): Buffer {
    return Buffer.from(Array.from({ length: 1 + random(below - 1) }, () => random(256)))
  }

  /** Sends random bytes, which are no HTTP request, and waits for the close. */
  async function rawGarbage(random: Random): Promise<void> {
    const socket = connect(hub.address.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.resume()
    socket.end(garbage(random, 2000))
    await once(socket, 'close')
  }

  /** Returns a frame with a valid tag and random content. */
  function mutatedFrame(random: Random): Uint8Array {
    const tags = [0x00, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x17, 0x20, 0x21, 0xff]
    const bytes = garbage(random, 60)
    bytes[0] = tags[random(tags.length)]!
    // Half of the long frames get a channel id below 256, which may exist.
    if (bytes.length > 9 && random(2) === 0) bytes.fill(0, 1, 8)
    return bytes
  }
})
