import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Channel } from '@muster/link'
import { afterEach, describe, expect, it } from 'vitest'
import { ForwardService, forwardPort } from './forward.ts'
import { silentLog } from './log.ts'
import { type LinkedPair, linkedPair } from './testing/linked-pair.ts'

const servers: Server[] = []
const pairs: LinkedPair[] = []

afterEach(() => {
  for (const { hub } of pairs.splice(0)) hub.close()
  for (const server of servers.splice(0)) server.close()
})

/** Starts a local TCP service and an agent's `ForwardService`. The test plays the hub, on a link in memory. */
async function forwarding(
  onConnection: (socket: Socket) => void,
  { host = '127.0.0.1', ...options }: { maxForwards?: number; host?: string } = {},
) {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  server.listen(0, host)
  await once(server, 'listening')
  servers.push(server)
  const { port } = server.address() as AddressInfo
  const service = new ForwardService({ log: silentLog, ...options })
  const pair = linkedPair(request => service.handle(request))
  pairs.push(pair)
  return { ...pair, service, sockets, endpoint: `forward/tcp/${port}` }
}

async function readAll(channel: Channel): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for (let piece = await channel.read(); piece !== null; piece = await channel.read()) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function readSome(channel: Channel): Promise<string> {
  return Buffer.from((await channel.read()) ?? []).toString()
}

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

describe('forwardPort', () => {
  it.each([
    ['forward/tcp/80', 80],
    ['forward/tcp/65535', 65535],
    ['forward/tcp/0', 0],
    ['forward/tcp/65536', 'invalid TCP forwarding endpoint'],
    ['forward/tcp/', 'invalid TCP forwarding endpoint'],
    ['forward/tcp/8x', 'invalid TCP forwarding endpoint'],
    ['forward/tcp/-1', 'invalid TCP forwarding endpoint'],
    ['forward/tcp/000080', 'invalid TCP forwarding endpoint'],
    ['forward/udp/53', 'unknown endpoint'],
    ['terminal', 'unknown endpoint'],
    ['', 'unknown endpoint'],
  ])('reads %s', (endpoint, expected) => {
    expect(forwardPort(endpoint)).toBe(expected)
  })
})

describe('ForwardService', () => {
  it('rejects unknown endpoints with the reasons of public agents', async () => {
    const { hub } = await forwarding(() => {})
    await expect(hub.open('terminal')).rejects.toThrow('channel rejected: unknown endpoint')
    await expect(hub.open('forward/tcp/x')).rejects.toThrow(
      'channel rejected: invalid TCP forwarding endpoint',
    )
  })

  it('rejects a port without a listener', async () => {
    const { hub, endpoint, service } = await forwarding(() => {})
    servers.splice(0).forEach(server => {
      server.close()
    })
    await expect(hub.open(endpoint)).rejects.toThrow(
      'channel rejected: local TCP forwarding target is unavailable',
    )
    expect(service.count).toBe(0)
  })

  it('D5: reaches a service that listens on ::1 only', async () => {
    const { hub, endpoint, sockets } = await forwarding(socket => socket.end('hello'), { host: '::1' })
    expect((await readAll(await hub.open(endpoint))).toString()).toBe('hello')
    expect(sockets[0]!.remoteAddress).toBe('::1')
  })

  it('accepts only after the service answered', async () => {
    const { hub, endpoint, sockets } = await forwarding(socket => socket.end('hello'))
    const channel = await hub.open(endpoint)
    expect(sockets).toHaveLength(1)
    expect((await readAll(channel)).toString()).toBe('hello')
  })

  it('continues to send to a service that ended its data while the hub did not read', async () => {
    const received: Buffer[] = []
    const { hub, endpoint, sockets } = await forwarding(socket => {
      socket.end(Buffer.alloc(3_000_000))
      socket.on('data', piece => received.push(piece))
    })
    const channel = await hub.open(endpoint)
    await expect
      .poll(() => sockets[0]?.writableFinished || (sockets[0]?.bytesWritten ?? 0) > 2_000_000)
      .toBeTruthy()
    expect(await readAll(channel)).toHaveLength(3_000_000)
    await channel.write(Buffer.from('thanks'))
    channel.end()
    await expect.poll(() => sockets[0]?.readableEnded).toBeTruthy()
    expect(Buffer.concat(received).toString()).toBe('thanks')
  })

  it('forwards each end independently, in both orders', async () => {
    const { hub, endpoint } = await forwarding(socket => {
      const pieces: Buffer[] = []
      socket.on('data', piece => pieces.push(piece))
      socket.on('end', () => socket.end(`got ${Buffer.concat(pieces)}`))
    })
    const channel = await hub.open(endpoint)
    await channel.write(Buffer.from('question'))
    channel.end()
    expect((await readAll(channel)).toString()).toBe('got question')

    const early = await forwarding(socket => {
      socket.end('answer first')
      socket.on('data', piece => received.push(piece))
    })
    const received: Buffer[] = []
    const other = await early.hub.open(early.endpoint)
    expect((await readAll(other)).toString()).toBe('answer first')
    await other.write(Buffer.from('and then this'))
    other.end()
    await expect.poll(() => Buffer.concat(received).toString()).toBe('and then this')
    await expect.poll(() => early.service.count).toBe(0)
  })

  it('forwards megabytes in both directions at once, unchanged', async () => {
    const bytes = randomBytes(3_000_000)
    const { hub, endpoint, service } = await forwarding(socket => socket.pipe(socket))
    const channel = await hub.open(endpoint)
    const answer = readAll(channel)
    for (let at = 0; at < bytes.length; at += 50_000) await channel.write(bytes.subarray(at, at + 50_000))
    channel.end()
    expect(digest(await answer)).toBe(digest(bytes))
    await expect.poll(() => service.count).toBe(0)
  })

  it('delivers everything of a service that closes at once', async () => {
    const bytes = randomBytes(2_000_000)
    const { hub, endpoint } = await forwarding(socket => {
      socket.end(bytes)
      socket.resume()
    })
    const channel = await hub.open(endpoint)
    // The hub ends its direction of the channel while most of the service's data is still to be sent.
    channel.end()
    await new Promise(resolve => setImmediate(resolve))
    expect(digest(await readAll(channel))).toBe(digest(bytes))
  })

  it('slows a service down to the pace of the hub', async () => {
    let written = 0
    const { hub, endpoint } = await forwarding(socket => {
      const fill = () => {
        while (written < 50_000_000) {
          written += 65_536
          if (!socket.write(Buffer.alloc(65_536))) return
        }
        socket.end()
      }
      socket.on('drain', fill)
      fill()
    })
    const channel = await hub.open(endpoint)
    await new Promise(resolve => setTimeout(resolve, 200))
    expect(written).toBeLessThan(20_000_000)
    expect((await readAll(channel)).length).toBeGreaterThanOrEqual(50_000_000)
  })

  it('ends the channel when the service resets its connection', async () => {
    const { hub, endpoint, service, sockets } = await forwarding(socket => socket.write('x'))
    const channel = await hub.open(endpoint)
    expect(await readSome(channel)).toBe('x')
    sockets[0]!.resetAndDestroy()
    expect(await channel.read()).toBeNull()
    await expect.poll(() => channel.hasPeerStopped).toBe(true)
    await expect.poll(() => service.count).toBe(0)
  })

  it('ends the connection to the service when the hub aborts, even while data is sent', async () => {
    const { hub, endpoint, service, sockets } = await forwarding(socket => {
      const talk = setInterval(() => socket.write('more'), 5)
      socket.on('close', () => clearInterval(talk))
    })
    const channel = await hub.open(endpoint)
    await readSome(channel)
    channel.close()
    await expect.poll(() => service.count).toBe(0)
    await expect.poll(() => sockets[0]!.destroyed).toBe(true)
  })

  it('delivers data sent before an abort', async () => {
    const received: Buffer[] = []
    const { hub, endpoint, service } = await forwarding(socket => {
      socket.on('data', piece => received.push(piece))
      socket.on('end', () => socket.end())
    })
    const channel = await hub.open(endpoint)
    await channel.write(Buffer.from('fire and forget'))
    channel.close()
    await expect.poll(() => Buffer.concat(received).toString()).toBe('fire and forget')
    await expect.poll(() => service.count).toBe(0)
  })

  it('ends the connection to the service when the link ends', async () => {
    const { hub, agent, endpoint, service, sockets } = await forwarding(socket => socket.write('x'))
    await readSome(await hub.open(endpoint))
    agent.close()
    await expect.poll(() => sockets[0]!.destroyed || sockets[0]!.readableEnded).toBe(true)
    await expect.poll(() => service.count).toBe(0)
  })

  it('limits open forwards, and allows more when some have ended', async () => {
    const { hub, endpoint, service } = await forwarding(socket => socket.pipe(socket), { maxForwards: 2 })
    const [first] = await Promise.all([hub.open(endpoint), hub.open(endpoint)])
    await expect(hub.open(endpoint, { timeoutMs: 300 })).rejects.toThrow(
      'too many concurrent TCP forwardings',
    )
    first?.close()
    await expect.poll(() => service.count).toBe(1)
    const again = await hub.open(endpoint)
    await again.write(Buffer.from('here'))
    expect(await readSome(again)).toBe('here')
  })
})
