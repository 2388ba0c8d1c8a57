import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Channel } from '@muster/link'
import {
  auditEvents,
  connectDevice,
  connectPerson,
  databaseSession,
  digestOf,
  type FakeDevice,
  forwardLocally,
  publicAgent,
  socketOf,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ChannelSocket } from '../proxy/channel-socket.ts'

let hub: TestHub
let fleet: Awaited<ReturnType<TestHub['fleet']>>
let device: FakeDevice
let service: Server
let port: number
/** Connections that the device's echo service has accepted. */
const served: Socket[] = []

beforeAll(async () => {
  hub = await testHub()
  fleet = await hub.fleet()
  service = createServer({ allowHalfOpen: true }, socket => {
    served.push(socket)
    socket.on('error', () => {})
    socket.pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  port = (service.address() as AddressInfo).port
  device = await connectDevice({ url: hub.url, token: fleet.token, link: { onRequest: forwardLocally } })
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  for (const socket of served) socket.destroy()
  service.close()
})

const endpoint = (deviceId = device.deviceId, target: number | string = port) =>
  `device/${deviceId}/proxy/forward/tcp/${target}`

async function readAll(channel: Channel): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of channel) pieces.push(piece)
  return Buffer.concat(pieces)
}

it('pipes bytes unchanged in both directions, each with its own end', async () => {
  await using cli = await connectPerson(hub.url, await hub.userToken(fleet.owner))
  const channel = await cli.open(endpoint())
  const bytes = randomBytes(8_000_000)
  const read = readAll(channel)
  for (let at = 0; at < bytes.length; at += 60_000) await channel.write(bytes.subarray(at, at + 60_000))
  channel.end()
  expect(digestOf(await read)).toBe(digestOf(bytes))
  await until(
    'the service has read to the end',
    () => served.at(-1)!.destroyed || served.at(-1)!.readableEnded,
  )
})

it('pipes 64 connections to one device at once', async () => {
  const token = await hub.userToken(fleet.owner)
  const outcomes = await Promise.all(
    Array.from({ length: 64 }, async (_, n) => {
      await using cli = await connectPerson(hub.url, token)
      const channel = await cli.open(endpoint(), { timeoutMs: 30_000 })
      await channel.write(Buffer.from(`hello ${n}`))
      channel.end()
      return (await readAll(channel)).toString()
    }),
  )
  expect(outcomes).toEqual(outcomes.map((_, n) => `hello ${n}`))
}, 60_000)

it('stops a writer while the reader stalls, and continues afterwards', async () => {
  await using cli = await connectPerson(hub.url, await hub.userToken(fleet.owner))
  const channel = await cli.open(endpoint())
  const chunk = randomBytes(64_000)
  let written = 0
  let isStopped = false
  const writing = (async () => {
    for (; written < 64_000_000 && !isStopped; written += chunk.length)
      await channel.write(Buffer.from(chunk))
  })()
  // The client does not read the echo, so the echo fills all buffers on the way. Then the writer stops.
  let before = -1
  await until('the writer has stopped', async () => {
    const isStill = written === before
    before = written
    await new Promise(done => setTimeout(done, 400))
    return isStill && written === before
  })
  expect(written).toBeLessThan(40_000_000)
  isStopped = true
  const reading = readAll(channel)
  await writing
  channel.end()
  expect((await reading).length).toBe(written)
}, 60_000)

it('delivers the answer of a service that closes while the client still sends', async () => {
  await using hasty = await connectDevice({
    url: hub.url,
    token: fleet.token,
    link: {
      onRequest: wish => {
        const channel = wish.accept()
        void channel.read().then(() => {
          // Sends three frames in a single write: the data, the end of the data, and the notice that the device reads no more.
          const socket = socketOf(hasty.webSocket)
          socket.cork()
          channel.tryWrite(Buffer.from('too large'))
          channel.close()
          socket.uncork()
        })
      },
    },
  })
  await until('the hub has registered the device', () => hub.devices.get(hasty.deviceId) !== undefined)
  await using cli = await connectPerson(hub.url, await hub.userToken(fleet.owner))
  const channel = await cli.open(endpoint(hasty.deviceId))
  const heard: string[] = []
  channel.onReadable = () => {
    for (let bytes = channel.tryRead(); bytes !== undefined; bytes = channel.tryRead()) {
      heard.push(bytes === null ? 'its end' : Buffer.from(bytes).toString())
      if (bytes === null) return
    }
  }
  channel.onPeerStopped = () => heard.push('it reads no more')
  for (let n = 0; n < 1_000 && channel.canWrite; n++)
    await channel.write(Buffer.alloc(64_000)).catch(() => {})
  // Command-line clients treat the notice "reads no more" as the end of the whole channel, so it must come last.
  await until('the last notice has arrived', () => heard.includes('it reads no more'))
  expect(heard).toEqual(['too large', 'its end', 'it reads no more'])
})

it('writes one audit event for each port, however many connections are forwarded', async () => {
  const auditedForwards = async () =>
    (await auditEvents(hub, 'devices_PortForwarded')).filter(({ deviceId }) => deviceId === device.deviceId)
  const before = (await auditedForwards()).length
  await using cli = await connectPerson(hub.url, await hub.userToken(fleet.owner))
  const open = (target?: number) =>
    cli.open(endpoint(undefined, target)).then(
      channel => channel.close(),
      () => {},
    )
  await Promise.all([open(), open(), open()])
  // Nothing listens on port 1 of the device, so this connection is refused. A refused connection has no audit event.
  await open(1)
  const { events } = await fleet.owner.invoke('devices_QueryAuditLog', {
    deviceId: device.deviceId,
    limit: 1,
  })
  expect(events).toMatchObject([{ event: 'devices_PortForwarded', address: '127.0.0.1' }])
  expect((await auditedForwards()).slice(before)).toMatchObject([
    {
      actor: { actor: 'UserToken', userId: fleet.owner.userId },
      data: { projectId: fleet.projectId, deviceId: device.deviceId, port },
      organizationId: fleet.organizationId,
    },
  ])
})

it('accepts no channel before the audit event is written, also for two concurrent requests of a port', async () => {
  await using cli = await connectPerson(hub.url, await hub.userToken(fleet.owner))
  await using session = await databaseSession(hub)
  const before = served.length
  await session.lock('audit_event')
  let accepted = 0
  const opening = Promise.all(
    [1, 2].map(async () => {
      await cli.open(endpoint())
      accepted++
    }),
  )
  opening.catch(() => {})
  await until('the device has accepted both', () => served.length === before + 2)
  await session.waitingStatements(1)
  // The rejection of this later request shows that the hub had time to accept the two requests before it.
  await expect(cli.open(endpoint('d_1111111111111111111111'))).rejects.toThrow('forbidden')
  expect(accepted).toBe(0)
  await session.release()
  await opening
})

it('closes both directions when a 2025 agent finds its port closed after it accepted the channel', async () => {
  await using agent = await publicAgent({ age: '2025', url: hub.url, token: fleet.token })
  await using cli = await connectPerson(hub.url, await hub.userToken(fleet.owner))
  const channel = await cli.open(endpoint(agent.deviceId, 1))
  expect(await channel.read()).toBe(null)
  await until('the other direction is closed, too', () => channel.hasPeerStopped)
})

it('rejects absent, foreign and closed targets with a reason', async () => {
  const otherPerson = await hub.user({ isAdmin: true })
  await using otherCli = await connectPerson(hub.url, await hub.userToken(otherPerson))
  await expect(otherCli.open(endpoint())).rejects.toThrow('forbidden')
  await using cli = await connectPerson(hub.url, await hub.userToken(fleet.owner))
  await expect(cli.open(endpoint('d_1111111111111111111111'))).rejects.toThrow('forbidden')
  await expect(cli.open(endpoint(undefined, 1))).rejects.toThrow(
    'connection refused by device: local TCP forwarding target is unavailable',
  )
  for (const strange of ['terminal', endpoint('x'), endpoint(undefined, 'x'), `${endpoint()}/more`])
    await expect(cli.open(strange), strange).rejects.toThrow('unknown endpoint')
  for (const wrong of [0, 65_536, 99_999])
    await expect(cli.open(endpoint(undefined, wrong))).rejects.toThrow('invalid TCP forwarding endpoint')
  await expect(device.link.open(endpoint())).rejects.toThrow('unknown endpoint')
  const away = await connectDevice({ url: hub.url, token: fleet.token })
  await away[Symbol.asyncDispose]()
  await until('the hub has removed the device', () => hub.devices.get(away.deviceId) === undefined)
  await expect(cli.open(endpoint(away.deviceId))).rejects.toThrow('device not connected')
})

it('closes the channel when the person loses the membership', async () => {
  const friend = await hub.user()
  await hub.db
    .insertInto('organization_member')
    .values({ organization_id: fleet.organizationId, user_id: friend.userId })
    .execute()
  await using cli = await connectPerson(hub.url, await hub.userToken(friend))
  const channel = await cli.open(endpoint())
  const stream = new ChannelSocket(channel)
  stream.write('hello')
  expect(String((await once(stream, 'data'))[0])).toBe('hello')
  await hub.db.deleteFrom('organization_member').where('user_id', '=', friend.userId).execute()
  await until('the forward is closed', () => !channel.canWrite || stream.destroyed || stream.readableEnded)
})
