import { createClient, newId } from '@muster/actions'
import { capturedLog, liveStream, natsServer, secondNode, testHub, until } from '@muster/testkit'
import { hasPrograms } from '@muster/testkit/programs'
import { describe, expect, it } from 'vitest'
import { natsConnect } from './nats-connection.ts'
import { RemoteBus } from './remote-bus.ts'
import { testBus } from './testing/conformance.ts'

/** Opens a bus for a new node. */
function openBus(url: string, instanceId = 'test', log = capturedLog()) {
  const bus = new RemoteBus({
    kind: 'NATS',
    nodeId: newId('cluster_node'),
    log: log.log,
    connect: natsConnect([url], instanceId),
    intervalMs: 0,
  })
  void bus.start()
  return Object.assign(bus, { log })
}

const isConnected = (bus: RemoteBus): Promise<true> => until('it is connected', () => bus.status.isConnected)

describe.runIf(hasPrograms('nats-server'))('the bus over NATS', { timeout: 60_000 }, () => {
  testBus(
    async () => {
      const server = await natsServer()
      return {
        open(nodeId, log) {
          const connect = natsConnect([`nats://127.0.0.1:${server.port}`], 'test')
          const bus = new RemoteBus({ kind: 'NATS', nodeId, log, connect, intervalMs: 0 })
          void bus.start()
          return bus
        },
        cut: () => server.restart(),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      }
    },
    { canBeCut: true },
  )

  it('notices a frozen server within seconds and heals when it goes on', async () => {
    await using server = await natsServer()
    await using a = openBus(`nats://127.0.0.1:${server.port}`)
    await using b = openBus(`nats://127.0.0.1:${server.port}`)
    await Promise.all([isConnected(a), isConnected(b)])
    const received: object[] = []
    b.subscribe('rights', right => received.push(right))
    server.signal('SIGSTOP')
    await until('both notice it', () => !a.status.isConnected && !b.status.isConnected, 10_000)
    for (let count = 0; count < 100_000; count++) a.publish('rights', { userId: newId('u') })
    server.signal('SIGCONT')
    await Promise.all([isConnected(a), isConnected(b)])
    const right = { userId: newId('u') }
    await until('a later message arrives', () => {
      a.publish('rights', right)
      return received.some(one => JSON.stringify(one) === JSON.stringify(right))
    })
    expect(received.length).toBeLessThan(40_000)
  })

  it('keeps instances on one server apart', async () => {
    await using server = await natsServer()
    const url = `nats://127.0.0.1:${server.port}`
    await using ours = openBus(url, 'ours')
    await using same = openBus(url, 'ours')
    await using foreign = openBus(url, 'foreign')
    await Promise.all([ours, same, foreign].map(isConnected))
    const [received, receivedByForeign]: object[][] = [[], []]
    same.subscribe('rights', right => received!.push(right))
    foreign.subscribe('rights', right => receivedByForeign!.push(right))
    await until('it has arrived', () => {
      ours.publish('rights', { userId: newId('u') })
      return received!.length > 0
    })
    expect(receivedByForeign).toEqual([])
  })

  it.each([
    [
      'a user and a password',
      'authorization { user: "hub", password: "se cret" }',
      'hub:se%20cret@',
      'hub:wrong@',
    ],
    ['a token', 'authorization { token: "t0ken" }', 't0ken@', 'wrong@'],
  ])('signs in with %s of its URL', async (_name, configuration, good, bad) => {
    await using server = await natsServer(configuration)
    await using bus = openBus(`nats://${good}127.0.0.1:${server.port}`)
    await isConnected(bus)
    await using refused = openBus(`nats://${bad}127.0.0.1:${server.port}`)
    await until('it is refused', () => /authorization/i.test(reasonOf(refused)))
  })

  it('reports a server that forbids its subjects', async () => {
    const user =
      '{ user: "hub", password: "secret", permissions: { publish: "other.>", subscribe: "other.>" } }'
    await using server = await natsServer(`authorization { users: [${user}] }`)
    await using bus = openBus(`nats://hub:secret@127.0.0.1:${server.port}`)
    bus.subscribe('rights', () => {})
    await until('it is reported', () => /permissions/i.test(reasonOf(bus)))
  })

  it('speaks TLS only with a server whose certificate is trusted', async () => {
    await using server = await natsServer()
    await using bus = openBus(`tls://127.0.0.1:${server.port}`)
    await until('it is refused', () => /tls/i.test(reasonOf(bus)))
  })

  it('ignores a message of 1 MiB, the largest that the server takes, with one log line', async () => {
    await using server = await natsServer()
    const url = `nats://127.0.0.1:${server.port}`
    await using bus = openBus(url)
    bus.subscribe('rights', () => expect.unreachable())
    await isConnected(bus)
    const closing = new AbortController()
    const { signal } = closing
    const outside = await natsConnect([url], 'test')({ received() {}, lost() {}, signal })
    await until('the line is written', async () => {
      await outside.send([{ subject: 'rights', text: 'x'.repeat(1_048_576) }])
      return bus.log.named('messages from other nodes were ignored').length > 0
    })
    closing.abort()
    expect(bus.log.named('messages from other nodes were ignored')).toHaveLength(1)
    expect(bus.status).toEqual({ isConnected: true })
  })
})

describe.runIf(hasPrograms('nats-server'))('a rolling change of the carrier', { timeout: 120_000 }, () => {
  it('O14: delivers changes between all nodes at each step, from PostgreSQL to NATS', async () => {
    await using server = await natsServer()
    const natsUrls = [`nats://127.0.0.1:${server.port}`]
    await using second = await testHub({ natsUrls, bus: 'both', nodeName: 'second', heartbeatMs: 250 })
    const old = await secondNode(second, { nodeName: 'old', heartbeatMs: 250 })
    const { owner, projectId } = await second.fleet()
    const reaches = async (from: { url: string }, to: { url: string }): Promise<void> => {
      await using stream = await liveStream(to, owner)
      await until('the change arrives', async () => {
        const client = createClient({
          baseUrl: from.url,
          headers: { cookie: owner.cookie, origin: from.url },
        })
        await client('projects_SetName', { projectId, name: newId('p') })
        return stream.changes.length > 0
      })
    }
    await reaches(old, second)
    await reaches(second, old)
    await old[Symbol.asyncDispose]()
    await using renewed = await secondNode(second, { natsUrls, nodeName: 'renewed', heartbeatMs: 250 })
    await reaches(renewed, second)
    await reaches(second, renewed)
  })
})

function reasonOf({ status }: RemoteBus): string {
  return status.isConnected ? '' : status.reason
}
