import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { encodeFrame, type Frame, MAGIC } from '@muster/link'
import {
  connectDevice,
  connectPerson,
  deviceIdentity,
  forwardLocally,
  type RawDevice,
  rawDevice,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let fleet: Awaited<ReturnType<TestHub['fleet']>>
let userToken: string
/** Service on the device that reads to the end and answers with the same bytes. */
let service: Server

beforeAll(async () => {
  hub = await testHub()
  fleet = await hub.fleet()
  userToken = await hub.userToken(fleet.owner)
  service = createServer({ allowHalfOpen: true }, socket => {
    buffer(socket).then(
      bytes => socket.end(bytes),
      () => {},
    )
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
})
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  service.close()
})

it('I6: ten forwards right after the start of both links end without any Ping or probe', async () => {
  await using device = await connectDevice({
    url: hub.url,
    token: fleet.token,
    link: { onRequest: forwardLocally },
  })
  const pings: string[] = []
  device.webSocket.on('message', (data: Buffer) => data[0] === 0x20 && pings.push('Ping'))
  device.webSocket.on('ping', () => pings.push('probe'))
  await using cli = await connectPerson(hub.url, userToken)
  const { port } = service.address() as AddressInfo
  for (let n = 0; n < 10; n++) {
    const channel = await cli.open(`device/${device.deviceId}/proxy/forward/tcp/${port}`)
    await channel.write(Buffer.from(`request ${n}`))
    channel.end()
    const pieces: Uint8Array[] = []
    for await (const piece of channel) pieces.push(piece)
    expect(Buffer.concat(pieces).toString()).toBe(`request ${n}`)
    await channel.closed
  }
  // An end that waits for a proof would have asked for it by a Ping or a probe. `roundTripMs` is set by the first Pong.
  expect(pings).toEqual([])
  expect([device.link.peerAge, cli.peerAge]).toEqual(['Current', 'Current'])
  expect([device.link.roundTripMs, cli.roundTripMs]).toEqual([undefined, undefined])
})

describe('I7: an agent with the older multiplexer', () => {
  const info = { hostname: 'pump-7', agent: { version: '0.9.0' } }

  /** Connects an agent that pings right after its Hello, and sets its system information on the executor with id 1. */
  async function connectLegacy(value: object, identity = undefined as RawDevice['identity'] | undefined) {
    const device = await rawDevice({ url: hub.url, token: fleet.token, ...(identity && { identity }) })
    const events: string[] = []
    device.webSocket.on('ping', () => events.push('probe'))
    device.webSocket.on('message', (data: Buffer) => {
      if (data[0] === 0x13 && data.readBigUInt64BE(1) === 5n) events.push('data')
      if (data[0] === 0x17 && data.readBigUInt64BE(1) === 5n) events.push('end')
      if (data[0] === 0x20) events.push('Ping')
    })
    device.send({ type: 'Hello', magic: MAGIC, info: new Uint8Array() }, { type: 'Ping' })
    const executor = await device.openExecutor(2)
    const actor = (await ask(device, executor, 'actor_GetActor', {})) as { actor: { deviceId: string } }
    const { deviceId } = actor.actor
    await ask(device, executor, 'devices_SetProperty', { deviceId, name: 'dev.nexigon.system.info', value })
    return { device, deviceId, events }
  }

  /** Runs an action on an executor channel of the device. */
  async function ask(device: RawDevice, receiverId: number, name: string, input: object): Promise<unknown> {
    const text = Buffer.from(JSON.stringify(input))
    const head = Buffer.alloc(2)
    head.writeUInt16BE(name.length)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(text.length)
    const payload = Buffer.concat([head, Buffer.from(name), length, text])
    const before = device.received.length
    device.send({ type: 'ChannelData', receiverId, payload })
    const answer = await until('the hub answers', () => {
      const frames = device.received.slice(before)
      const data = frames.flatMap(frame => (frame.type === 'ChannelData' ? [frame.payload] : []))
      const bytes = Buffer.concat(data)
      return bytes.length > 4 && bytes.length >= 4 + bytes.readUInt32BE(0) ? bytes.subarray(4) : undefined
    })
    const envelope = JSON.parse(answer.toString()) as { result: string; value: unknown }
    expect(envelope.result).toBe('Ok')
    return envelope.value
  }

  /** Forwards one message of a person to the device, and returns what the device has received up to the end of the data. */
  async function endOf({ device, deviceId, events }: Awaited<ReturnType<typeof connectLegacy>>) {
    await using cli = await connectPerson(hub.url, userToken)
    const opened = cli.open(`device/${deviceId}/proxy/forward/tcp/80`)
    const request = await until('the hub requests the forward', () =>
      device.received.find(
        (frame): frame is Frame & { type: 'ChannelRequest' } => frame.type === 'ChannelRequest',
      ),
    )
    const credit = { frameCredit: 128, byteCredit: 16_384 }
    device.send({ type: 'ChannelAccept', receiverId: request.senderId, senderId: 5, ...credit })
    const channel = await opened
    await channel.write(Buffer.from('hello'))
    channel.end()
    await until('the data has ended', () => events.includes('end'))
    return events
  }

  it('gets the end of data right behind the data if its system information has the member agent', async () => {
    const legacy = await connectLegacy(info)
    await using _device = legacy.device
    expect(await endOf(legacy)).toEqual(['data', 'end'])
  })

  it.each([
    ['no member agent', { hostname: 'pump-7' }],
    ['another kind of member', { hostname: 'pump-7', agent: 'old' }],
  ])('gets it after a proof that it has read the data if there is %s', async (_what, value) => {
    const legacy = await connectLegacy(value)
    await using _device = legacy.device
    expect(await endOf(legacy)).toEqual(['data', 'probe', 'end'])
  })

  it('gets it after a proof if only an earlier connection has sent the member', async () => {
    const identity = await deviceIdentity()
    const before = await connectLegacy(info, identity)
    await before.device[Symbol.asyncDispose]()
    const { device, deviceId } = before
    const again = await rawDevice({ url: hub.url, token: fleet.token, identity: device.identity })
    await using _again = again
    const events: string[] = []
    again.webSocket.on('ping', () => events.push('probe'))
    again.webSocket.on('message', (data: Buffer) => {
      if (data[0] === 0x13) events.push('data')
      if (data[0] === 0x17) events.push('end')
    })
    again.webSocket.send(encodeFrame({ type: 'Hello', magic: MAGIC, info: new Uint8Array() }))
    again.send({ type: 'Ping' })
    await until('the device is connected', () => hub.devices.get(deviceId) !== undefined)
    expect(await endOf({ device: again, deviceId, events })).toEqual(['data', 'probe', 'end'])
  })
})
