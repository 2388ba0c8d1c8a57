import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { newId } from '@muster/actions'
import type { Channel } from '@muster/link'
import {
  type CapturedLog,
  capturedLog,
  connectDevice,
  connectPerson,
  type DevicePage,
  deviceIdentity,
  devicePage,
  digestOf,
  forwardLocally,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { loadConfig } from '../../platform/config/config.ts'
import { instanceKeyOf } from '../../platform/credentials/instance-key.ts'
import { DeviceRegistry } from '../links/registry.ts'
import {
  bindingOf,
  challengeHeaders,
  type Handshake,
  NODE_LINK_PATH,
  newChallenge,
  nodeLinkKeys,
  proofsOf,
  readChallenge,
} from './handshake.ts'
import { NodeLink } from './node-link.ts'
import { NodeListener } from './node-listener.ts'
import { Reach } from './reach.ts'
import { relayTo, tlsRelayTo } from './testing/relay.ts'

const KEY = 'ab'.repeat(32)
const OTHER_KEY = 'cd'.repeat(32)

/** The node to which the device is connected, and the node that people use. */
let holder: TestHub
let entry: TestHub
let holderLog: CapturedLog
let entryLog: CapturedLog
let page: DevicePage
let person: Awaited<ReturnType<typeof connectPerson>>
/** Port of a TCP echo service on the device. */
let echoPort: number
const app = createServer({ keepAliveTimeout: 0 }, application)
const echo = createTcpServer({ allowHalfOpen: true }, socket => socket.on('error', () => {}).pipe(socket))

beforeAll(async () => {
  holderLog = capturedLog()
  entryLog = capturedLog()
  holder = await testHub({ instanceKey: KEY, nodePort: 0, nodeUrl: 'https://127.0.0.1' }, holderLog.log)
  entry = await secondNode({ nodePort: 0 }, entryLog)
  new WebSocketServer({ server: app, path: '/socket' }).on('connection', socket =>
    socket.on('message', data => socket.send(data)),
  )
  await once(app.listen(0, '127.0.0.1'), 'listening')
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  echoPort = portOf(echo)
  page = await devicePage(holder, app)
  person = await connectPerson(entry.url, await holder.userToken(page.owner))
})
afterAll(async () => {
  await person[Symbol.asyncDispose]()
  await page[Symbol.asyncDispose]()
  await entry[Symbol.asyncDispose]()
  await holder[Symbol.asyncDispose]()
  app.closeAllConnections()
  app.close()
  echo.close()
})

/** Starts a second hub node with the database of the node `holder`. */
function secondNode(settings: Parameters<typeof testHub>[0], { log }: CapturedLog): Promise<TestHub> {
  const databaseUrl = holder.pool.options.connectionString
  return testHub({ databaseUrl, instanceKey: KEY, ...settings }, log)
}

function portOf(server: { address(): unknown }): number {
  return (server.address() as AddressInfo).port
}

function application(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/echo') request.pipe(response)
  else if (request.url === '/endless') response.write('begun')
  else response.end('hello')
}

const forward = (deviceId = page.device.deviceId, port = echoPort) =>
  `device/${deviceId}/proxy/forward/tcp/${port}`
const throughEntry = {
  get port() {
    return entry.address.port
  },
}

async function textAt(path: string, options: object = throughEntry): Promise<string> {
  return Buffer.concat(await (await page.ask(path, { ...options, agent: false })).toArray()).toString()
}

async function readAll(channel: Channel): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of channel) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function linkUrlOf({ nodeId }: TestHub): Promise<string> {
  const row = await holder.db
    .selectFrom('cluster_node')
    .where('node_id', '=', nodeId)
    .select('link_url')
    .executeTakeFirstOrThrow()
  return row.link_url!
}

/** A second `Reach` of the node `entry`, with other settings than the hub's own. */
function reachOf(options: Partial<ConstructorParameters<typeof Reach>[0]> = {}): Reach {
  return new Reach({
    config: { ...loadConfig({}), databaseUrl: 'postgresql://shared' },
    db: entry.db,
    devices: new DeviceRegistry(() => {}),
    nodeId: entry.nodeId,
    key: instanceKeyOf(KEY),
    previousKey: undefined,
    log: entryLog.log,
    ...options,
  })
}

/** Publishes another address in the database row of the node `holder` while `work` runs. */
async function withLinkUrl(url: string | null, work: () => Promise<void>): Promise<void> {
  const before = await linkUrlOf(holder)
  const set = (link_url: string | null) =>
    holder.db.updateTable('cluster_node').set({ link_url }).where('node_id', '=', holder.nodeId).execute()
  await set(url)
  try {
    await work()
  } finally {
    await set(before)
  }
}

describe('a device of another node', () => {
  it('is reached by a forward, and each direction ends by itself', async () => {
    const channel = await person.open(forward())
    const bytes = randomBytes(4_000_000)
    const reading = readAll(channel)
    for (let at = 0; at < bytes.length; at += 60_000) await channel.write(bytes.subarray(at, at + 60_000))
    channel.end()
    expect(digestOf(await reading)).toBe(digestOf(bytes))
    expect(await linkUrlOf(holder)).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
  })

  it('I6: ends ten forwards right after the start of both links without any Ping or probe', async () => {
    const { owner, token } = await holder.fleet()
    await using device = await connectDevice({ url: holder.url, token, link: { onRequest: forwardLocally } })
    let pings = 0
    device.webSocket.on('message', (data: Buffer) => data[0] === 0x20 && pings++)
    device.webSocket.on('ping', () => pings++)
    await using cli = await connectPerson(entry.url, await holder.userToken(owner))
    for (let n = 0; n < 10; n++) {
      const channel = await cli.open(forward(device.deviceId))
      await channel.write(Buffer.from(`request ${n}`))
      channel.end()
      expect((await readAll(channel)).toString()).toBe(`request ${n}`)
      await channel.closed
    }
    expect(pings).toBe(0)
    expect([device.link.peerAge, cli.peerAge]).toEqual(['Current', 'Current'])
  })

  it('is reached by browsers, with bodies in both directions', async () => {
    const body = randomBytes(2_000_000)
    const answer = await page.ask('/echo', { ...throughEntry, method: 'POST' }, outgoing =>
      outgoing.end(body),
    )
    expect(digestOf(Buffer.concat(await answer.toArray()))).toBe(digestOf(body))
  })

  it('is reached by WebSockets', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${entry.address.port}/socket`, {
      headers: { host: page.host, cookie: page.cookie },
    })
    await once(socket, 'open')
    socket.send('hello')
    expect(String((await once(socket, 'message'))[0])).toBe('hello')
    socket.close()
    await once(socket, 'close')
  })

  it('rejects with the same reasons as on its own node', async () => {
    await expect(person.open(forward(undefined, 1))).rejects.toThrow(
      'connection refused by device: local TCP forwarding target is unavailable',
    )
    const { owner, device } = page
    const { url, jwt } = await owner.invoke('devices_IssueHttpProxyToken', {
      deviceId: device.deviceId,
      port: 1,
    })
    const answer = await page.ask('/', {
      ...throughEntry,
      headers: { host: new URL(url).host, cookie: `muster-device=${jwt}` },
    })
    expect(answer.statusCode).toBe(502)
    expect(Buffer.concat(await answer.toArray()).toString()).toContain('Nothing answers on the device')
  })

  it('D5, D6, D8: shows pages with HTTPS, under a name of the port, with redirects to itself', async () => {
    const { certificatePem, keyPem } = await deviceIdentity()
    const secure = createHttpsServer({ cert: certificatePem, key: keyPem! }, (_request, response) => {
      response.writeHead(302, { location: `https://localhost:${portOf(secure)}/home` }).end('secure')
    })
    await once(secure.listen(0, '127.0.0.1'), 'listening')
    const { owner, device } = page
    const input = { deviceId: device.deviceId, port: portOf(secure) }
    const ask = async (protocol: 'http' | 'https') => {
      const { url, jwt } = await owner.invoke('devices_IssueHttpProxyToken', { ...input, protocol })
      const { host } = new URL(url)
      expect(host).not.toBe(page.host)
      const headers = { host, cookie: `muster-device=${jwt}` }
      const answer = await page.ask('/', { ...throughEntry, agent: false, headers })
      const text = Buffer.concat(await answer.toArray()).toString()
      return { host, text, location: answer.headers.location }
    }
    const { host, text, location } = await ask('https')
    expect(text).toBe('secure')
    expect(location).toBe(`http://${host.split(':')[0]}:${new URL(entry.publicUrl).port}/home`)
    expect((await ask('http')).text).toContain('This port expects HTTPS')
    secure.close()
  })

  it('uses one link for all connections', async () => {
    const opened = await Promise.all(Array.from({ length: 40 }, () => textAt('/')))
    expect(new Set(opened)).toEqual(new Set(['hello']))
    expect(holderLog.named('node link accepted')).toMatchObject([{ nodeId: entry.nodeId }])
    expect(entryLog.named('node link accepted')).toEqual([])
  })

  it('ends forwards and answers as broken when its connection ends, and is found on the node to which it returns', async () => {
    const { owner, token } = await holder.fleet()
    const options = { token, link: { onRequest: forwardLocally } }
    await using device = await connectDevice({ url: holder.url, ...options })
    const { deviceId, identity } = device
    await until('the holder knows it', () => holder.devices.get(deviceId) !== undefined)
    const userToken = await holder.userToken(owner)
    await using cli = await connectPerson(entry.url, userToken)
    await using otherCli = await connectPerson(holder.url, userToken)
    const channel = await cli.open(forward(deviceId))
    await channel.write(Buffer.from('hello'))
    expect(Buffer.from((await channel.read())!).toString()).toBe('hello')
    const { url, jwt } = await owner.invoke('devices_IssueHttpProxyToken', { deviceId, port: portOf(app) })
    const headers = { host: new URL(url).host, cookie: `muster-device=${jwt}` }
    const answer = await page.ask('/endless', { ...throughEntry, headers })
    const broken = expect(answer.toArray()).rejects.toThrow('aborted')

    await using reach = reachOf()
    const half = await (await reach.find(deviceId))!.open(`forward/tcp/${portOf(app)}`)
    half.end()

    device.webSocket.terminate()
    await broken
    // A lost device connection must be an error and not a normal end of the data, even after this side has ended its own data.
    await expect(half.read()).rejects.toThrow('the peer aborted the channel')
    await until('the forward is closed', () => channel.hasPeerStopped)
    await expect.poll(() => cli.open(forward(deviceId)).catch(String)).toContain('device not connected')

    await using _returned = await connectDevice({ url: entry.url, identity, ...options })
    await until('the entry node knows it', () => entry.devices.get(deviceId) !== undefined)
    for (const link of [cli, otherCli]) {
      const again = await link.open(forward(deviceId))
      again.end()
      expect(await readAll(again)).toHaveLength(0)
    }
    expect(entryLog.named('node link accepted')).toMatchObject([{ nodeId: holder.nodeId }])
  })

  it('keeps its number of connections bounded however many are asked for', async () => {
    await using reach = reachOf()
    const device = await reach.find(page.device.deviceId)
    const refusals: string[] = []
    const outcomes = Array.from({ length: 1_000 }, () =>
      device!.open(`forward/tcp/${echoPort}`).catch(error => refusals.push(String(error))),
    )
    // 16 channels to the device are in use and 256 requests are queued. All further requests are refused immediately.
    await until('the others are refused', () => refusals.length >= 1_000 - 16 - 256)
    expect(new Set(refusals)).toEqual(
      new Set(['ChannelRejectedError: channel rejected: too many channels are waiting']),
    )
    expect(page.device.link.channelCount).toBeLessThan(32)
    await reach[Symbol.asyncDispose]()
    await Promise.all(outcomes)
    await expect.poll(() => textAt('/')).toBe('hello')
  })
})

describe('a link between nodes', () => {
  it('closes when it is not used, and opens again', async () => {
    const log = capturedLog()
    await using reach = reachOf({ log: log.log, idleMs: 50 })
    const device = await reach.find(page.device.deviceId)
    const channel = await device!.open(`forward/tcp/${echoPort}`)
    expect(await reach.find(page.device.deviceId)).toBe(device)
    channel.close()
    await device!.ended
    await until('the link is closed', () => log.named('node link ended').length === 1)
    expect(log.named('node link ended')).toMatchObject([{ end: 'LocalClose', reason: 'unused' }])
    const again = await reach.find(page.device.deviceId)
    expect(again).not.toBe(device)
    ;(await again!.open(`forward/tcp/${echoPort}`)).close()
  })

  it('ends its channels when it breaks, and is opened again after a rest', async () => {
    await using relay = await relayTo(portIn(await linkUrlOf(holder)))
    const log = capturedLog()
    await using reach = reachOf({ log: log.log })
    await withLinkUrl(`https://127.0.0.1:${relay.port}`, async () => {
      const device = await reach.find(page.device.deviceId)
      const channel = await device!.open(`forward/tcp/${echoPort}`)
      relay.cut()
      await expect(channel.read()).rejects.toThrow('link ended')
      await device!.ended
      expect(log.named('node link ended')).toMatchObject([{ level: 'warn', end: 'TransportClosed' }])
      const again = await until('another link', () => reach.find(page.device.deviceId))
      ;(await again.open(`forward/tcp/${echoPort}`)).close()
    })
  })

  it('works while the nodes change to another instance key', async () => {
    const log = capturedLog()
    await using reach = reachOf({
      key: instanceKeyOf(OTHER_KEY),
      previousKey: instanceKeyOf(KEY),
      log: log.log,
    })
    const device = await reach.find(page.device.deviceId)
    ;(await device!.open(`forward/tcp/${echoPort}`)).close()
    await reach[Symbol.asyncDispose]()
    expect(log.named('node link ended')).toMatchObject([{ end: 'LocalClose' }])
  })

  it('is refused with another instance key, by both sides', async () => {
    const log = capturedLog()
    await using reach = reachOf({ key: instanceKeyOf(OTHER_KEY), log: log.log })
    const device = await reach.find(page.device.deviceId)
    await expect(device!.open(`forward/tcp/${echoPort}`)).rejects.toThrow('does not prove the instance key')
    await device!.ended
    // Requests within a second of the failure cause no further attempt.
    expect(await reach.find(page.device.deviceId)).toBeUndefined()
    expect(log.named('node link ended')).toHaveLength(1)
    await refusedAs('closed without a proof')
  })

  it('is refused when somebody in between ends TLS with another certificate', async () => {
    await using relay = await tlsRelayTo(portIn(await linkUrlOf(holder)))
    const log = capturedLog()
    await using reach = reachOf({ log: log.log })
    await withLinkUrl(`https://127.0.0.1:${relay.port}`, async () => {
      const device = await reach.find(page.device.deviceId)
      await expect(device!.open(`forward/tcp/${echoPort}`)).rejects.toThrow('does not prove the instance key')
    })
    await refusedAs('closed without a proof')
  })

  it('is not opened without TLS to another machine, unless that is allowed', async () => {
    await withLinkUrl('http://192.0.2.1:6879', async () => {
      await using reach = reachOf()
      const device = await reach.find(page.device.deviceId)
      await expect(device!.open(`forward/tcp/${echoPort}`)).rejects.toThrow('plain HTTP to another machine')
    })
  })

  it('is not accepted without TLS from another machine', async context => {
    const own = Object.values(networkInterfaces())
      .flat()
      .find(one => one?.family === 'IPv4' && !one.internal)
    if (own === undefined) return context.skip()
    const { log, named } = capturedLog()
    await using listener = new NodeListener({
      nodeId: holder.nodeId,
      keys: nodeLinkKeys(instanceKeyOf(KEY), undefined),
      isSecure: false,
      allowPlaintext: false,
      isRunning: async () => true,
      serve: async () => {},
      log,
    })
    const port = await listener.listen('0.0.0.0', 0)
    const socket = new WebSocket(`ws://${own.address}:${port}${NODE_LINK_PATH}`)
    socket.on('error', () => {})
    const [, response] = await once(socket, 'unexpected-response')
    expect(response.statusCode).toBe(403)
    expect(named('node link refused')).toMatchObject([{ reason: 'plain HTTP from another machine' }])
  })

  it('is not opened to a node without a listener, whose devices count as not connected', async () => {
    const { log, named } = capturedLog()
    await using reach = reachOf({ log })
    await withLinkUrl(null, async () => {
      expect(await reach.find(page.device.deviceId)).toBeUndefined()
      expect(await reach.find(page.device.deviceId)).toBeUndefined()
    })
    expect(named('a device is connected to a node without MUSTER_NODE_PORT')).toHaveLength(1)
  })
})

describe('channels of another node', () => {
  it('are refused for other projects, other connections and unknown endpoints', async () => {
    const { deviceId } = page.device
    const session = holder.devices.get(deviceId)!
    const connection = { deviceId, connectionId: session.connectionId!, projectId: session.projectId }
    const link = new NodeLink(
      { nodeId: holder.nodeId, url: await linkUrlOf(holder) },
      {
        nodeId: entry.nodeId,
        keys: nodeLinkKeys(instanceKeyOf(KEY), undefined),
        allowPlaintext: false,
        idleMs: 60_000,
        log: entryLog.log,
      },
    )
    const refused = () =>
      holderLog.named('channel of another node refused').filter(({ level }) => level === 'warn').length
    const before = refused()
    const foreign = link.device({ ...connection, projectId: newId('p') })
    await foreign.ended
    await expect(foreign.open(`forward/tcp/${echoPort}`)).rejects.toThrow('device not connected')
    // Two channels were refused, each with one log line: the watch of the device's connection, and the forward.
    expect(refused()).toBe(before + 2)
    const older = link.device({ ...connection, connectionId: newId('d_conn') })
    await older.ended
    const device = link.device(connection)
    for (const strange of ['forward/tcp/0', 'forward/tcp/65536', 'terminal', 'executor'])
      await expect(device.open(strange), strange).rejects.toThrow('unknown endpoint')
    expect(refused()).toBe(before + 6)
    link.close('')
    await link.ended
  })
})

describe('a handshake', () => {
  const keys = nodeLinkKeys(instanceKeyOf(KEY), undefined)

  it.each<[string, string, (handshake: Handshake, serverProof: string) => string | Buffer]>([
    ['a proof for the other role', 'wrong proof', (_, serverProof) => serverProof],
    [
      'a proof of another instance key',
      'wrong proof',
      handshake => proofsOf(nodeLinkKeys(instanceKeyOf(OTHER_KEY), undefined), 'client', handshake).join(),
    ],
    [
      'a proof of another connection',
      'wrong proof',
      handshake => proofsOf(keys, 'client', { ...handshake, binding: 'plaintext' }).join(),
    ],
    [
      'a replayed proof',
      'wrong proof',
      handshake =>
        proofsOf(keys, 'client', { ...handshake, server: newChallenge(handshake.server.nodeId) }).join(),
    ],
    ['a binary message', 'the first message is no proof', () => Buffer.alloc(43)],
    ['a message of 1 MiB', 'the first message is no proof', () => 'x'.repeat(1024 * 1024)],
    ['a larger message', 'Max payload size exceeded', () => 'x'.repeat(2 * 1024 * 1024)],
  ])('is refused for %s', async (_what, reason, messageOf) => {
    const { webSocket, handshake, serverProof } = await begun()
    webSocket.send(messageOf(handshake, serverProof))
    await once(webSocket, 'close')
    await refusedAs(reason)
  })

  it('is refused when the proof comes late', async () => {
    const { webSocket, handshake } = await begun()
    const now = vi.spyOn(Date, 'now').mockReturnValue(handshake.server.expiresAtMs + 1)
    try {
      webSocket.send(proofsOf(keys, 'client', handshake).join())
      await once(webSocket, 'close')
    } finally {
      now.mockRestore()
    }
    await refusedAs('expired proof')
  })

  it('is refused for stolen names and malformed requests', async () => {
    const statusOf = async (headers: Record<string, string>, path = NODE_LINK_PATH) => {
      const socket = new WebSocket((await linkUrlOf(holder)).replace('http', 'ws') + path, {
        headers,
        rejectUnauthorized: false,
      })
      socket.on('error', () => {})
      const [, response] = await once(socket, 'unexpected-response')
      return response.statusCode
    }
    const to = { 'X-Muster-To': holder.nodeId }
    const challenge = challengeHeaders(newChallenge(entry.nodeId))
    expect(await statusOf({ ...to, ...challenge, 'X-Muster-Node': newId('cluster_node') })).toBe(403)
    await refusedAs('claims the name of a node that does not run')
    expect(await statusOf({ ...to, ...challenge, 'X-Muster-Node': holder.nodeId })).toBe(403)
    await refusedAs('claims the name of this node')
    expect(await statusOf({ ...challenge, 'X-Muster-To': entry.nodeId })).toBe(421)
    await refusedAs('meant for another node')
    expect(await statusOf(to)).toBe(400)
    await refusedAs('malformed challenge')
    expect(await statusOf({ ...to, ...challenge }, '/')).toBe(404)
    await refusedAs('no such endpoint')
  })

  it('ends a link that breaks the protocol, and nothing else', async () => {
    const { webSocket, handshake } = await begun()
    webSocket.send(proofsOf(keys, 'client', handshake).join())
    webSocket.send(randomBytes(1024 * 1024))
    await once(webSocket, 'close')
    await until('its end is logged', () =>
      holderLog
        .named('node link of another node ended')
        .some(({ end, level }) => end === 'Violation' && level === 'warn'),
    )
    // The test's link had replaced the link of the node `entry`, which now opens a new one.
    await expect.poll(() => textAt('/')).toBe('hello')
  })

  /** Begins a handshake with the node `holder`, with the id of the node `entry`. */
  async function begun(): Promise<{ webSocket: WebSocket; handshake: Handshake; serverProof: string }> {
    const client = newChallenge(entry.nodeId)
    const webSocket = new WebSocket((await linkUrlOf(holder)).replace('http', 'ws') + NODE_LINK_PATH, {
      headers: { ...challengeHeaders(client), 'X-Muster-To': holder.nodeId },
      rejectUnauthorized: false,
    })
    webSocket.on('error', () => {})
    const [answer] = (await once(webSocket, 'upgrade')) as [IncomingMessage]
    const handshake = { client, server: readChallenge(answer.headers)!, binding: bindingOf(answer.socket) }
    if (webSocket.readyState !== webSocket.OPEN) await once(webSocket, 'open')
    return { webSocket, handshake, serverProof: String(answer.headers['x-muster-proof']) }
  }
})

/** Waits until the node `holder` has refused a link, and checks that it logged exactly one line. */
async function refusedAs(reason: string): Promise<void> {
  await until(`one line "${reason}"`, () => holderLog.named('node link refused').length > 0)
  expect(holderLog.named('node link refused')).toMatchObject([{ reason, level: 'warn' }])
  holderLog.lines.length = 0
}

function portIn(url: string): number {
  return Number(new URL(url).port)
}
