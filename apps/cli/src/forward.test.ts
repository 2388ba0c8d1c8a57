import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { ChannelRequest } from '@muster/link'
import {
  type CuttingProxy,
  connectDevice,
  cuttingProxy,
  type FakeDevice,
  forwardLocally,
  type Muster,
  muster,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

let hub: TestHub
let device: FakeDevice
let proxy: CuttingProxy
let cli: Muster
let token: string
/** Echo server in the role of a service on the device. */
let service: Server
let servicePort: number
const served = new Set<Socket>()

beforeAll(async () => {
  hub = await testHub()
  proxy = await cuttingProxy()
  proxy.leadTo(hub.address.port)
  const fleet = await hub.fleet()
  service = createServer({ allowHalfOpen: true }, socket => {
    served.add(socket)
    socket.on('error', () => {})
    socket.pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  servicePort = (service.address() as AddressInfo).port
  token = fleet.token
  device = await connectDevice({ url: hub.url, token, link: { onRequest: forwardLocally } })
  cli = await muster({ MUSTER_HUB: proxy.url, MUSTER_TOKEN: await hub.userToken(fleet.owner) })
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  proxy[Symbol.dispose]()
  for (const socket of served) socket.destroy()
  service.close()
})

/** Starts `muster forward`. Resolves to the process and its local port. */
async function forwarding(remotePort = servicePort, deviceId = device.deviceId) {
  const started = cli.start(['forward', deviceId, `0:${remotePort}`, '--json'])
  const out = await until('it listens', () => {
    if (started.child.exitCode !== null) throw new Error(started.err())
    return started.out().includes(']') && started.out()
  })
  const { forwards } = JSON.parse(out) as { forwards: { localPort: number }[] }
  return { ...started, localPort: forwards[0]!.localPort }
}

/** Sends bytes to a local port. Resolves to the bytes that are received until the end of the connection. */
async function echoed(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(bytes)
  return buffer(socket)
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

it('forwards many connections at once, unchanged, and exits cleanly with Ctrl-C', async () => {
  const { localPort, child, ended } = await forwarding()
  await Promise.all(
    Array.from({ length: 12 }, async () => {
      const bytes = randomBytes(500_000)
      expect(sha256(await echoed(localPort, bytes))).toBe(sha256(bytes))
    }),
  )
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 0, err: '' })
})

it('reports the refusal of a connection and continues', async () => {
  const { localPort, child, err, ended } = await forwarding(1)
  await echoed(localPort, Buffer.from('x')).catch(() => {})
  await until('the refusal is printed', () =>
    /^muster: port 1: connection refused by device: [^\n]+\n$/.test(err()),
  )
  expect(child.exitCode).toBeNull()
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({ code: 0 })
})

it('escapes reasons of a device that could control the terminal', async () => {
  const { token, owner } = await hub.fleet()
  const onRequest = (request: ChannelRequest) =>
    request.reject('\u001b]0;owned\u0007\u009b2J\nmuster: connected again')
  await using hostile = await connectDevice({ url: hub.url, token, link: { onRequest } })
  await using person = await muster({ MUSTER_HUB: hub.url, MUSTER_TOKEN: await hub.userToken(owner) })
  const { child, out, err, ended } = person.start(['forward', hostile.deviceId, '0:80', '--json'])
  await until('it listens', () => out().includes(']'))
  const { forwards } = JSON.parse(out()) as { forwards: { localPort: number }[] }
  await echoed(forwards[0]!.localPort, Buffer.from('x')).catch(() => {})
  await until('the refusal is printed', () => err().includes('owned'))
  expect(err()).toMatch(/^muster: port 80: connection refused by device: [^\p{Cc}]*\n$/u)
  child.kill('SIGTERM')
  await ended
})

it('reconnects after the hub was unreachable, and delays connections opened meanwhile', async () => {
  const { localPort, child, err, ended } = await forwarding()
  proxy.down(true)
  await until('it notices', () => err().includes('connecting again'))
  const bytes = randomBytes(1000)
  const waiting = echoed(localPort, bytes)
  proxy.down(false)
  expect(await waiting).toEqual(bytes)
  expect(err()).toContain('muster: connected again\n')
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 0 })
})

it.each(['hub', 'device'])('resets connections that break because the %s disconnected', async which => {
  const other = await connectDevice({ url: hub.url, token, link: { onRequest: forwardLocally } })
  await until('the hub knows it', () => hub.devices.get(other.deviceId) !== undefined)
  const { localPort, child, ended } = await forwarding(undefined, other.deviceId)
  const socket = connect({ port: localPort, host: '127.0.0.1' })
  socket.write('hello')
  await once(socket, 'data')
  const broken = once(socket, 'error')
  const lost = once(served.values().toArray().at(-1)!, 'error')
  if (which === 'hub') proxy.down(true)
  else await other[Symbol.asyncDispose]()
  expect((await broken)[0]).toMatchObject({ code: 'ECONNRESET' })
  expect((await lost)[0]).toMatchObject({ code: 'ECONNRESET' })
  proxy.down(false)
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 0 })
  await other[Symbol.asyncDispose]()
})

it('fails if the local port is in use, and for a device of another organization', async () => {
  const taken = await cli.run(['forward', device.deviceId, `${servicePort}:80`])
  expect(taken).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/^muster: Found port \d+ of this machine in use[^\n]+\n$/),
  })
  const other = await hub.fleet()
  await using foreign = await connectDevice({ url: hub.url, token: other.token })
  expect(await cli.run(['forward', foreign.deviceId, '0:80'])).toMatchObject({ code: 3, out: '' })
})
