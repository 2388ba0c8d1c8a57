import { newId } from '@muster/actions'
import { capturedLog } from '@muster/testkit'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { batchTexts, MAX_BATCH_BYTES } from './messages.ts'
import type { OutgoingBatch } from './outbox.ts'
import { type BusConnection, RemoteBus } from './remote-bus.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A bus server that accepts connections while `isUp`, and does not answer while `isFrozen`. */
function startServer({ isUp = true, isStarted = true } = {}) {
  const server = {
    isUp,
    isFrozen: false,
    attemptCount: 0,
    sent: [] as OutgoingBatch[][],
    destroyedCount: 0,
    receive: (_subject: string, _text: string): void => {},
  }
  const answer = (): Promise<void> => (server.isFrozen ? new Promise(() => {}) : Promise.resolve())
  const log = capturedLog()
  const bus = new RemoteBus({
    kind: 'PostgreSQL',
    nodeId: newId('cluster_node'),
    log: log.log,
    intervalMs: 200,
    async connect({ received, signal }): Promise<BusConnection> {
      server.attemptCount++
      if (!server.isUp) throw new Error('refused')
      server.receive = received
      signal.addEventListener('abort', () => void server.destroyedCount++)
      return {
        listen: answer,
        unlisten: answer,
        ping: answer,
        async send(batches) {
          server.sent.push([...batches])
          await answer()
        },
      }
    },
  })
  if (isStarted) void bus.start()
  return { server, bus, log }
}

it('sends at most one batch each 200 ms, the first at once', async () => {
  const { server, bus } = startServer()
  await vi.advanceTimersByTimeAsync(300)
  bus.publish('rights', { userId: newId('u') })
  await vi.advanceTimersByTimeAsync(1)
  expect(server.sent).toHaveLength(1)
  for (let count = 0; count < 100; count++) {
    bus.publish('rights', { userId: newId('u') })
    await vi.advanceTimersByTimeAsync(10)
  }
  expect(server.sent.length).toBeLessThanOrEqual(6)
  await bus[Symbol.asyncDispose]()
})

it('gives up a server that does not answer, within 6 s, and comes back by itself', async () => {
  const { server, bus, log } = startServer()
  await vi.advanceTimersByTimeAsync(1)
  expect(bus.status).toEqual({ isConnected: true })
  server.isFrozen = true
  await vi.advanceTimersByTimeAsync(6_001)
  expect(bus.status).toMatchObject({ isConnected: false, reason: 'no answer for 4000 ms' })
  expect(server.destroyedCount).toBeGreaterThan(0)
  await vi.advanceTimersByTimeAsync(60_000)
  // In the minute above, each attempt took the deadline of 4 s and a wait before the next attempt, so there were not many.
  expect(server.attemptCount).toBeLessThan(25)
  server.isFrozen = false
  await vi.advanceTimersByTimeAsync(15_000)
  expect(bus.status).toEqual({ isConnected: true })
  expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
  await bus[Symbol.asyncDispose]()
})

it('keeps at most 1 MiB of messages while it is away and drops the oldest', async () => {
  const { server, bus, log } = startServer({ isUp: false })
  await vi.advanceTimersByTimeAsync(1)
  const ids = Array.from({ length: 60_000 }, () => newId('u'))
  for (const userId of ids) bus.publish('rights', { userId })
  server.isUp = true
  await vi.advanceTimersByTimeAsync(15_000)
  const [loss, ...batches] = server.sent.flat()
  expect(loss!.subject).toBe('losses')
  const texts = batches.map(({ text }) => text)
  expect(texts.every(text => text.length <= MAX_BATCH_BYTES)).toBe(true)
  const sentIds = texts.flatMap(text => (JSON.parse(text) as { messages: { userId: string }[] }).messages)
  expect(sentIds.length).toBeGreaterThan(10_000)
  expect(sentIds.length).toBeLessThan(30_000)
  expect(sentIds.map(({ userId }) => userId).join() === ids.slice(-sentIds.length).join()).toBe(true)
  expect(log.named('the bus between nodes is connected')[0]).toMatchObject({
    droppedCount: ids.length - sentIds.length,
  })
  await bus[Symbol.asyncDispose]()
})

it('notifies the other nodes once of messages that were lost before it connected, and of a batch that failed', async () => {
  const { server, bus } = startServer({ isStarted: false })
  for (let count = 0; count < 3; count++) bus.publish('rights', { userId: newId('u') })
  void bus.start()
  const sent = (): string[] => server.sent.flat().map(({ subject }) => subject)
  await vi.advanceTimersByTimeAsync(300)
  expect(sent()).toEqual(['losses'])
  bus.publish('rights', { userId: newId('u') })
  await vi.advanceTimersByTimeAsync(300)
  expect(sent()).toEqual(['losses', 'rights'])
  server.isFrozen = true
  bus.publish('rights', { userId: newId('u') })
  await vi.advanceTimersByTimeAsync(6_001)
  server.isFrozen = false
  await vi.advanceTimersByTimeAsync(15_000)
  expect(sent()).toEqual(['losses', 'rights', 'rights', 'losses'])
  await bus[Symbol.asyncDispose]()
})

it('ignores texts that are no batch or too large, with one log line', async () => {
  const { server, bus, log } = startServer()
  const received: object[] = []
  bus.subscribe('rights', right => received.push(right))
  await vi.advanceTimersByTimeAsync(1)
  const right = { userId: newId('u') }
  const from = newId('cluster_node')
  const [good] = batchTexts(from, [JSON.stringify(right)])
  for (const text of [
    '',
    '7',
    '{',
    '[]',
    '{"from":"x","messages":[]}',
    `{"from":"${from}","messages":{}}`,
    `{"from":"${from}","messages":[${JSON.stringify(right)}],"padding":"${'x'.repeat(1024 * 1024)}"}`,
    good!,
  ])
    server.receive('rights', text)
  expect(received).toEqual([right])
  expect(log.named('messages from other nodes were ignored')).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(60_000)
  server.receive('rights', '{')
  expect(log.named('messages from other nodes were ignored')[1]).toMatchObject({ count: 7 })
  await bus[Symbol.asyncDispose]()
})

it('sends what waits before it closes', async () => {
  const { server, bus } = startServer()
  await vi.advanceTimersByTimeAsync(300)
  bus.publish('rights', { userId: newId('u') })
  bus.publish('rights', { userId: newId('u') })
  await bus[Symbol.asyncDispose]()
  expect(server.sent).toHaveLength(1)
})
