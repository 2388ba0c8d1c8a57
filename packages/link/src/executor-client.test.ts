import { describe, expect, it } from 'vitest'
import { ByteBudget } from './byte-budget.ts'
import type { Channel } from './channel.ts'
import { errorEnvelope, okEnvelope } from './envelope.ts'
import { ExecutorClient, type ExecutorClientOptions } from './executor-client.ts'
import { encodeRequest } from './executor-format.ts'
import { type ExecutorHandle, serveExecutor } from './executor-server.ts'
import { connectedLinks } from './testing/memory-transport.ts'
import { RawPeer } from './testing/raw-peer.ts'

const none = new Uint8Array(0)

function answer(text: string | Uint8Array): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt32BE(Buffer.from(text).length)
  return Buffer.concat([header, Buffer.from(text)])
}

async function rawClient(options?: ExecutorClientOptions): Promise<[RawPeer, ExecutorClient, Channel]> {
  const peer = new RawPeer()
  const opening = peer.link.open('executor')
  peer.accept(1, 1)
  const channel = await opening
  peer.sent()
  return [peer, new ExecutorClient(channel, options), channel]
}

async function served(handle: ExecutorHandle): Promise<ExecutorClient> {
  const pair = connectedLinks({ b: { onRequest: request => serveExecutor(request.accept(), handle) } })
  return new ExecutorClient(await pair.a.open('executor'))
}

describe('invoke', () => {
  it('sends the bytes of the protocol in one frame', async () => {
    const [peer, client] = await rawClient()
    const result = client.invoke('actor_GetActor', {})
    expect(peer.sent()).toMatchObject([
      { payload: Buffer.from('000e6163746f725f4765744163746f72000000027b7d', 'hex') },
    ])
    peer.sendData(1, answer(okEnvelope({ actor: 1 })))
    expect(await result).toEqual({ actor: 1 })
  })

  it('runs calls of any size one after the other, in order', async () => {
    const names: string[] = []
    const client = await served(async (name, input) => {
      names.push(name)
      await Promise.resolve()
      return okEnvelope({ name, length: (JSON.parse(Buffer.from(input).toString()) as string).length })
    })
    const sizes = [0, 10, 100_000, 5, 1_000_000]
    const results = await Promise.all(
      sizes.map((size, index) => client.invoke(`n${index}`, 'x'.repeat(size))),
    )
    expect(results).toEqual(sizes.map((length, index) => ({ name: `n${index}`, length })))
    expect(names).toEqual(['n0', 'n1', 'n2', 'n3', 'n4'])
  })

  it('accepts large answers', async () => {
    const client = await served(() => okEnvelope('y'.repeat(8_000_000)))
    expect(await client.invoke('x', undefined)).toHaveLength(8_000_000)
  })

  it('rejects with the error of the peer, and later calls work', async () => {
    const client = await served(name => (name === 'bad' ? errorEnvelope('Forbidden', 'no') : okEnvelope(1)))
    await expect(client.invoke('bad', {})).rejects.toMatchObject({
      name: 'RemoteActionError',
      kind: 'Forbidden',
      message: 'no',
    })
    expect(await client.invoke('good', {})).toBe(1)
  })

  it('rejects a call over the limits without sending it', async () => {
    const client = await served(() => okEnvelope(1))
    await expect(client.invoke('n'.repeat(256), {})).rejects.toThrow('action name over 255 bytes')
    await expect(client.invoke('n', 'x'.repeat(8 * 1024 * 1024))).rejects.toThrow('action input over 8 MiB')
    expect(await client.invoke('n'.repeat(255), {})).toBe(1)
    expect(encodeRequest('n', 'x'.repeat(8 * 1024 * 1024))).toHaveLength(7 + 8 * 1024 * 1024)
    const [, busy] = await rawClient()
    const calls = Array.from({ length: 1026 }, () => busy.invoke('a', {}))
    await expect(calls[1025]).rejects.toThrow('too many calls are waiting')
    busy.close()
    await Promise.allSettled(calls)
  })

  it('rejects one call whose answer is not an envelope, and later calls work', async () => {
    const [peer, client] = await rawClient()
    const bad = [Buffer.from([0xff]), '{}', 'x']
    for (const each of bad) {
      const call = client.invoke('a', {})
      peer.sendData(1, answer(each))
      await expect(call).rejects.toMatchObject({ name: 'ProtocolError' })
    }
    const call = client.invoke('a', {})
    for (const byte of answer(okEnvelope(5))) peer.sendData(1, Uint8Array.of(byte))
    expect(await call).toBe(5)
  })
})

it('rejects one call whose answer exceeds the memory budget, and later calls work', async () => {
  const [peer, client] = await rawClient({ budget: new ByteBudget(1000) })
  const calls = [client.invoke('a', {}), client.invoke('b', {})]
  const large = answer(okEnvelope('x'.repeat(100_000)))
  for (let at = 0; at < large.length; at += 1000) peer.sendData(1, large.subarray(at, at + 1000))
  await expect(calls[0]).rejects.toThrow('out of memory for large responses')
  peer.sendData(1, answer(okEnvelope(2)))
  expect(await calls[1]).toBe(2)
})

describe('an executor client ends', () => {
  it('after an answer without a request', async () => {
    const [peer, client] = await rawClient()
    peer.sendData(1, answer(okEnvelope(1)))
    await expect(client.invoke('a', {})).rejects.toThrow('a response without a request')
    const [other, second] = await rawClient()
    const first = second.invoke('a', {})
    const waiting = second.invoke('b', {})
    other.sendData(1, Buffer.concat([answer(okEnvelope(1)), answer(okEnvelope(2))]))
    expect(await first).toBe(1)
    await expect(waiting).rejects.toThrow('a response without a request')
    expect(other.link.channelCount).toBe(0)
    expect(other.link.isOpen).toBe(true)
  })

  it('after an answer over 8 MiB', async () => {
    const [peer, client] = await rawClient()
    const call = client.invoke('a', {})
    peer.sendData(1, Uint8Array.of(0, 0x80, 0, 1))
    await expect(call).rejects.toThrow('a response over 8 MiB')
  })

  it('after an answer that stays incomplete for 30 s', async () => {
    const [peer, client] = await rawClient({})
    const call = client.invoke('a', {})
    const pass = (ms: number): void => {
      for (let passed = 0; passed < ms; passed += 100) {
        peer.clock.advance(100)
        if (peer.sentTypes().includes('Ping')) peer.send({ type: 'Pong' })
      }
    }
    peer.send({ type: 'Ping' })
    pass(120_000)
    peer.sendData(1, answer(okEnvelope(1)).subarray(0, 10))
    pass(29_900)
    expect(peer.link.channelCount).toBe(1)
    pass(100)
    await expect(call).rejects.toThrow('the response took too long')
    expect(peer.link.channelCount).toBe(0)
  })

  it('after a missing answer if a timeout is set', async () => {
    const [peer, client] = await rawClient({ answerTimeoutMs: 1000 })
    const call = client.invoke('a', {})
    peer.clock.advance(1000)
    await expect(call).rejects.toThrow('the response took too long')
  })

  it('after the peer ends the channel', async () => {
    const [peer, client] = await rawClient()
    const call = client.invoke('a', {})
    peer.send({ type: 'ChannelClosed', receiverId: 1, reason: none })
    await expect(call).rejects.toMatchObject({ name: 'ChannelClosedError' })
    await expect(client.invoke('b', {})).rejects.toThrow('the peer closed the executor')
    const [other, stopped] = await rawClient()
    const lost = stopped.invoke('a', {})
    other.send({ type: 'ChannelClose', receiverId: 1, reason: none })
    await expect(lost).rejects.toThrow('the peer closed the executor')
    expect(other.link.channelCount).toBe(0)
  })

  it('after the link ends', async () => {
    const [peer, client] = await rawClient()
    const calls = [client.invoke('a', {}), client.invoke('b', {})]
    peer.link.transportClosed('gone')
    for (const call of calls) await expect(call).rejects.toMatchObject({ name: 'LinkEndedError' })
    await expect(client.invoke('c', {})).rejects.toThrow('link ended: TransportClosed: gone')
  })

  it('at once if the channel had ended before', async () => {
    const peer = new RawPeer()
    const opening = peer.link.open('executor')
    peer.accept(1, 1)
    peer.send({ type: 'ChannelClose', receiverId: 1, reason: none })
    const client = new ExecutorClient(await opening)
    await expect(client.invoke('a', {})).rejects.toThrow('the peer closed the executor')
  })

  it('when the channel itself is closed', async () => {
    const [, client, channel] = await rawClient()
    const call = client.invoke('a', {})
    channel.close()
    await expect(call).rejects.toThrow('the executor was closed')
  })

  it('with close(), which sends both end frames and rejects pending calls', async () => {
    const [peer, client] = await rawClient()
    const call = client.invoke('a', {})
    peer.sent()
    client.close()
    client.close()
    expect(peer.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
    await expect(call).rejects.toThrow('the executor was closed')
    await expect(client.invoke('b', {})).rejects.toThrow('the executor was closed')
  })
})
