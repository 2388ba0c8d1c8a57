import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Channel } from '@muster/link'
import {
  type Age,
  connectDevice,
  connectPerson,
  deviceIdentity,
  digestOf,
  type FirstPing,
  forwardLocally,
  MalformedOutput,
  type PublicAgent,
  type PublicCommandLine,
  publicAgent,
  publicCommandLine,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

// Legacy peers send their first Ping and their first request in either order (docs/protocol.md 1.7). Neither order may lose data.

const REPLAYS = inject('replays')
/** Number of concurrent replays. It is low because the hub and all clients share this process. */
const CONCURRENT = 25
/** Sizes in bytes around the limits of frames and windows, and a size above the largest window of 1 MiB. */
const SIZES = [0, 1, 6, 511, 512, 8_191, 8_192, 16_384, 16_385, 65_536, 1_048_576, 5_000_000]
const LARGEST = 64 * 1024 * 1024

const content = randomBytes(LARGEST)
let hub: TestHub
let owner: TestUser
let token: string
let userToken: string
/** HTTP/1.0 server that answers `GET /size`. Only closing the connection marks the end of the body. */
let http10: Server
/** Server that reads until the client's FIN, then replies with the digest of the bytes. */
let digester: Server

const portOf = (server: Server): number => (server.address() as AddressInfo).port

beforeAll(async () => {
  hub = await testHub()
  const fleet = await hub.fleet()
  owner = fleet.owner
  token = fleet.token
  userToken = await hub.userToken(owner)
  http10 = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => {})
    socket.once('data', head => {
      const size = Number(/^GET \/(\d+) /.exec(String(head))?.[1])
      socket.write('HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n')
      socket.end(content.subarray(0, size))
    })
  }).listen(0, '127.0.0.1')
  digester = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => {})
    buffer(socket).then(
      bytes => socket.end(digestOf(bytes)),
      () => {},
    )
  }).listen(0, '127.0.0.1')
  await Promise.all([once(http10, 'listening'), once(digester, 'listening')])
})
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  http10.close()
  digester.close()
})

type Ends = { agent: PublicAgent; cli: PublicCommandLine }

/** Connects a new agent and a new command-line client, both simulated. */
async function newEnds(cli: readonly [Age, FirstPing?], agent: readonly [Age, FirstPing?]) {
  const identity = await deviceIdentity()
  const ends: Ends = {
    agent: await publicAgent({ age: agent[0], firstPing: agent[1], url: hub.url, token, identity }),
    cli: await publicCommandLine({ age: cli[0], firstPing: cli[1], url: hub.url, userToken }),
  }
  return {
    ...ends,
    [Symbol.asyncDispose]: async () => {
      await ends.cli[Symbol.asyncDispose]()
      await ends.agent[Symbol.asyncDispose]()
    },
  }
}

/** Runs `work` `times` times, `CONCURRENT` at a time. */
async function replay(times: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < times) await work(next++)
  }
  await Promise.all(Array.from({ length: CONCURRENT }, worker))
}

/** Sends bytes through a local port and reads the whole answer. With `endsFirst`, the FIN is sent before the answer is read. */
async function exchange(localPort: number, bytes: Uint8Array | string, endsFirst: boolean): Promise<Buffer> {
  const socket: Socket = connect({ port: localPort, host: '127.0.0.1', allowHalfOpen: true })
  if (endsFirst) socket.end(bytes)
  else socket.write(bytes)
  const answer = await buffer(socket)
  socket.end()
  return answer
}

/** Downloads a body by HTTP/1.0 through a forward. */
async function download({ agent, cli }: Ends, size: number): Promise<Buffer> {
  using forward = await cli.forward(agent.deviceId, portOf(http10))
  const answer = await exchange(forward.localPort, `GET /${size} HTTP/1.0\r\n\r\n`, false)
  expect(forward.errors).toEqual([])
  return answer.subarray(answer.indexOf('\r\n\r\n') + 4)
}

/** Sends bytes through a forward, ends the writing side, and returns the service's answer: the digest of the bytes. */
async function halfClose({ agent, cli }: Ends, sent: Uint8Array): Promise<string> {
  using forward = await cli.forward(agent.deviceId, portOf(digester))
  return String(await exchange(forward.localPort, sent, true))
}

async function askClosedPort({ agent, cli }: Ends): Promise<void> {
  using forward = await cli.forward(agent.deviceId, 1)
  const startedAt = performance.now()
  const nothing = await exchange(forward.localPort, 'hello', false).catch(() => Buffer.alloc(0))
  expect(nothing.length).toBe(0)
  expect(performance.now() - startedAt).toBeLessThan(5_000)
}

function expectContent(body: Buffer, size: number): void {
  expect(body.length).toBe(size)
  expect(body.equals(content.subarray(0, size))).toBe(true)
}

/** Requests a web page at a closed port of the device. Returns the status and the time until the response. */
async function browseClosedPort(deviceId: string): Promise<{ status: number; tookMs: number }> {
  const { url, jwt } = await owner.invoke('devices_IssueHttpProxyToken', { deviceId, port: 1 })
  const startedAt = performance.now()
  const headers = { host: new URL(url).host, cookie: `muster-device=${jwt}` }
  const outgoing = request({ port: hub.address.port, host: '127.0.0.1', agent: false, headers }).end()
  const [answer] = await once(outgoing, 'response')
  answer.resume()
  return { status: answer.statusCode, tookMs: performance.now() - startedAt }
}

const LEGACY = [
  ['2025', 'BeforeRequest'],
  ['2025', 'AfterRequest'],
] as const
const PAIRS: [readonly [Age, FirstPing?], readonly [Age, FirstPing?]][] = [
  ...LEGACY.flatMap(cli => LEGACY.map(agent => [cli, agent] as [typeof cli, typeof agent])),
  [['2025', 'AfterRequest'], ['2026']],
  [['2026'], ['2025', 'AfterRequest']],
  [['2026'], ['2026']],
]

describe.each(PAIRS)('I1: a command line of %s with an agent of %s', (cli, agent) => {
  it(`${REPLAYS} times: downloads completely, answers a half-close, and ends for a closed port`, {
    timeout: 60_000,
  }, async () => {
    await replay(REPLAYS, async n => {
      await using ends = await newEnds(cli, agent)
      const size = SIZES[n % SIZES.length]!
      const sent = content.subarray(n, n + SIZES[(n + 5) % SIZES.length]!)
      await Promise.all([
        download(ends, size).then(body => expectContent(body, size)),
        halfClose(ends, sent).then(answer => expect(answer).toBe(digestOf(sent))),
        askClosedPort(ends),
      ])
    })
  })
})

describe.each(LEGACY)('I1: a peer of %s whose first Ping is sent %s', (age, firstPing) => {
  it(`agent, ${REPLAYS} times: a browser gets 502 for its closed port`, { timeout: 60_000 }, async () => {
    await replay(REPLAYS, async () => {
      await using agent = await publicAgent({ age, firstPing, url: hub.url, token })
      const { status, tookMs } = await browseClosedPort(agent.deviceId)
      expect(status).toBe(502)
      expect(tookMs).toBeLessThan(5_000)
    })
  })

  it(`command line, ${REPLAYS} times: can parse the error for too many calls`, {
    timeout: 60_000,
  }, async () => {
    const ask = async (cli: PublicCommandLine): Promise<unknown> => {
      const email = `nobody-${randomBytes(8).toString('hex')}@test.example`
      return cli.invoke('users_ResetPassword', { email }).catch((error: unknown) => error)
    }
    await using first = await publicCommandLine({ age, url: hub.url, userToken })
    for (let n = 0; n < 40; n++) await ask(first)
    await replay(REPLAYS, async () => {
      await using cli = await publicCommandLine({ age, firstPing, url: hub.url, userToken })
      const refusal = await ask(cli)
      expect(refusal).not.toBeInstanceOf(MalformedOutput)
      expect(refusal).toMatchObject({ kind: 'Internal', message: expect.stringContaining('Too many') })
    })
  })

  it('transfers 64 MiB completely', { timeout: 60_000 }, async () => {
    await using ends = await newEnds([age, firstPing], [age, firstPing])
    expectContent(await download(ends, LARGEST), LARGEST)
  })
})

async function readAll(channel: Channel): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of channel) pieces.push(piece)
  return Buffer.concat(pieces)
}

it('I1: a new command line that stops reading within its first second still delivers all of its 1 MiB', async () => {
  await using device = await connectDevice({ url: hub.url, token, link: { onRequest: forwardLocally } })
  const received: Promise<Buffer>[] = []
  const service = createServer({ allowHalfOpen: true }, socket => {
    received.push(buffer(socket))
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  await using cli = await connectPerson(hub.url, userToken)
  const channel = await cli.open(`device/${device.deviceId}/proxy/forward/tcp/${portOf(service)}`)
  channel.stopReading()
  await sleep(50)
  for (let at = 0; at < 1_048_576; at += 65_536) await channel.write(content.subarray(at, at + 65_536))
  channel.end()
  await channel.closed
  expectContent(await received[0]!, 1_048_576)
  service.close()
})

/** Stops reading from the channel, then writes 1 MiB and ends the channel. */
async function sendLate(channel: Channel): Promise<void> {
  channel.stopReading()
  await sleep(50)
  for (let at = 0; at < 1_048_576; at += 65_536) await channel.write(content.subarray(at, at + 65_536))
  channel.end()
}

it('I1: a new device that stops reading within its first second still delivers all of its 1 MiB', async () => {
  await using device = await connectDevice({
    url: hub.url,
    token,
    link: {
      onRequest: wish => void sendLate(wish.accept()),
    },
  })
  await using cli = await connectPerson(hub.url, userToken)
  const channel = await cli.open(`device/${device.deviceId}/proxy/forward/tcp/80`)
  expectContent(await readAll(channel), 1_048_576)
})
