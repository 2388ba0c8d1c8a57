import { newId } from '@muster/actions'
import { type CapturedLog, capturedLog, until } from '@muster/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Logger } from '../../runtime/log.ts'
import type { Bus, BusStatus } from '../bus.ts'
import { BusMessageTooLarge } from '../messages.ts'

/** Transport that connects the buses of several nodes. */
export type BusMedium = AsyncDisposable & {
  /** Opens the bus of a node. */
  open(nodeId: string, log: Logger): Bus
  /** Ends all connections of the buses at their server, as an outage would. Undefined for a medium without a server. */
  cut?: () => Promise<void>
}

type Node = { nodeId: string; bus: Bus; log: CapturedLog }

const AWAY = 'the bus between nodes is away; changes made on other nodes arrive by polling'
const IGNORED = 'messages from other nodes were ignored'

/** Tests that the bus of every adapter must pass. */
export function testBus(openMedium: () => Promise<BusMedium>, { canBeCut }: { canBeCut: boolean }): void {
  let stack: AsyncDisposableStack
  let medium: BusMedium
  let a: Node
  let b: Node
  beforeEach(async () => {
    stack = new AsyncDisposableStack()
    medium = stack.use(await openMedium())
    ;[a, b] = [join(), join()]
    await connected(a, b)
  })
  afterEach(() => stack.disposeAsync())

  function join(): Node {
    const nodeId = newId('cluster_node')
    const log = capturedLog()
    return { nodeId, log, bus: stack.use(medium.open(nodeId, log.log)) }
  }

  const connected = (...nodes: Node[]): Promise<unknown> =>
    until('all nodes are connected', () => nodes.every(({ bus }) => bus.status.isConnected))

  /** Collects the messages of a subject at a node. */
  function collect(node: Node, subject: 'rights' | `live.${string}` | `node.${string}`) {
    const received: object[] = []
    return { received, unsubscribe: node.bus.subscribe(subject, message => received.push(message)) }
  }

  /** Waits until all collections receive what `a` publishes with the subject `rights`, and empties the collections. */
  async function rightsArrive(...collections: { received: object[] }[]): Promise<void> {
    await until('the subscriptions take effect', () => {
      a.bus.publish('rights', { userId: newId('u') })
      return collections.every(({ received }) => received.length > 0)
    })
    const last = newId('p')
    a.bus.publish('rights', { projectId: last })
    await until('the last right arrives', () =>
      collections.every(({ received }) => received.some(right => 'projectId' in right)),
    )
    for (const { received } of collections) received.length = 0
  }

  it('delivers a message to every other node and not to its own subscribers', async () => {
    const c = join()
    await connected(c)
    const [own, other, third] = [collect(a, 'rights'), collect(b, 'rights'), collect(c, 'rights')]
    await rightsArrive(other, third)
    const right = { certificateId: newId('d_c') }
    a.bus.publish('rights', right)
    await until('both have it', () => other.received.length > 0 && third.received.length > 0)
    expect(other.received).toEqual([right])
    expect(third.received).toEqual([right])
    expect(own.received).toEqual([])
  })

  it('keeps the order of a publisher and splits what is larger than one batch', async () => {
    const collection = collect(b, 'rights')
    await rightsArrive(collection)
    const { received } = collection
    const sent = Array.from({ length: 1_000 }, () => ({ deviceId: newId('d') }))
    for (const right of sent.slice(0, 900)) a.bus.publish('rights', right)
    await until('some have arrived', () => received.length > 0)
    for (const right of sent.slice(900)) a.bus.publish('rights', right)
    await until('all have arrived', () => received.length >= sent.length)
    expect(received).toEqual(sent)
  })

  it('delivers only the subjects that a node subscribes to, until it unsubscribes', async () => {
    const [organizationId, foreign] = [newId('org'), newId('org')]
    const change = { topic: 'projects', organizationId } as const
    const [first, second] = [collect(b, `live.${organizationId}`), collect(b, `live.${organizationId}`)]
    await until('the subscription takes effect', () => {
      a.bus.publish(`live.${foreign}`, { topic: 'projects', organizationId: foreign })
      a.bus.publish(`live.${organizationId}`, change)
      return first.received.length > 0
    })
    first.unsubscribe()
    const count = first.received.length
    const last = { topic: 'members', organizationId } as const
    a.bus.publish(`live.${organizationId}`, last)
    await until('the last change arrives', () =>
      second.received.some(one => 'topic' in one && one.topic === 'members'),
    )
    expect(first.received).toEqual(Array.from({ length: count }, () => change))
    expect(second.received).toEqual([...second.received.slice(1).map(() => change), last])
    second.unsubscribe()
    const rights = collect(b, 'rights')
    await rightsArrive(rights)
    second.received.length = 0
    a.bus.publish(`live.${organizationId}`, change)
    await rightsArrive(collect(b, 'rights'))
    expect(second.received).toEqual([])
  })

  it('delivers the first message after a subscription took effect', async () => {
    const organizationIds = Array.from({ length: 20 }, () => newId('org'))
    for (const organizationId of organizationIds) {
      const { received } = collect(b, `live.${organizationId}`)
      await b.bus.subscribed()
      const change = { topic: 'projects', organizationId } as const
      a.bus.publish(`live.${organizationId}`, change)
      await until('it arrives', () => received.length > 0)
    }
  })

  it('delivers to the node that a subject names', async () => {
    const { received } = collect(b, `node.${b.nodeId}`)
    const message = { connectionId: newId('d_conn') }
    await until('it has arrived', () => {
      a.bus.publish(`node.${newId('cluster_node')}`, { connectionId: newId('d_conn') })
      a.bus.publish(`node.${b.nodeId}`, message)
      return received.length > 0
    })
    expect(new Set(received.map(one => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(message)]))
  })

  it('ignores messages of a wrong type, of a newer version and of other tenants with one log line', async () => {
    const [organizationId, userId] = [newId('org'), newId('u')]
    const [rights, organization, person] = [
      collect(b, 'rights'),
      collect(b, `live.${organizationId}`),
      collect(b, `live.${userId}`),
    ]
    const publish = (subject: 'rights' | `live.${string}`, message: unknown): void =>
      a.bus.publish(subject, message as never)
    const good = [
      ['rights', { userId }, rights],
      [`live.${organizationId}`, { topic: 'devices', organizationId }, organization],
      [`live.${userId}`, { topic: 'organizations', organizationId }, person],
    ] as const
    await until('the subscriptions take effect', () => {
      for (const [subject, message] of good) publish(subject, message)
      return good.every(([, , { received }]) => received.length > 0)
    })
    for (const right of [null, 7, 'text', [], {}, { userId: 7 }, { userId: 'u_1' }, { newerId: newId('u') }])
      publish('rights', right)
    publish(`live.${organizationId}`, { topic: 'devices', organizationId: newId('org') })
    publish(`live.${organizationId}`, { topic: 'a newer topic', organizationId })
    publish(`live.${organizationId}`, { topic: 'devices', organizationId, deviceId: "d_' or true --" })
    publish(`live.${userId}`, { topic: 'devices', organizationId: newId('org') })
    const last = [
      { projectId: newId('p') },
      { topic: 'members', organizationId },
      { topic: 'invitations', organizationId },
    ]
    for (const [at, [subject]] of good.entries()) publish(subject, last[at])
    for (const [at, [, message, { received }]] of good.entries()) {
      await until(
        'the last message arrives',
        () => JSON.stringify(received.at(-1)) === JSON.stringify(last[at]),
      )
      expect(received).toEqual([...received.slice(1).map(() => message), last[at]])
    }
    expect(b.log.named(IGNORED)).toHaveLength(1)
  })

  it('refuses a message that is too large for every adapter', () => {
    const right = { userId: 'u'.repeat(8_000) }
    expect(() => a.bus.publish('rights', right)).toThrow(BusMessageTooLarge)
    expect(() => a.bus.publish('rights', right)).toThrow(
      'Found a message of 8013 bytes for the subject rights, expected at most 7800 bytes: send ids instead of values.',
    )
  })

  describe.runIf(canBeCut)('after its connections were cut', () => {
    it('reconnects once, keeps its subscriptions, and logs one line', async () => {
      const collection = collect(b, 'rights')
      await rightsArrive(collection)
      const statuses = new Map<Node, BusStatus[]>([
        [a, []],
        [b, []],
      ])
      for (const [{ bus }, list] of statuses) bus.onStatus(status => list.push(status))
      await medium.cut!()
      await until('both are back', () => [...statuses.values()].every(list => list.at(-1)?.isConnected))
      await rightsArrive(collection)
      for (const list of statuses.values())
        expect(list).toEqual([
          { isConnected: false, since: expect.any(Date), reason: expect.stringMatching(/./) },
          { isConnected: true },
        ])
      expect(b.log.named(AWAY)).toHaveLength(1)
    })
  })
}
