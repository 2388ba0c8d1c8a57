import {
  auditEvents,
  connectDevice,
  type DeviceIdentity,
  deviceIdentity,
  secondNode,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const PROXY_SECRET = 'proxy-secret-0123456789'
const OPERATOR_TOKEN = 'an-operator-token-of-32-characters'
const SETTINGS = {
  trustedProxies: ['127.0.0.1'],
  proxySecret: PROXY_SECRET,
  operatorPort: 0,
  operatorToken: OPERATOR_TOKEN,
}
const A = '203.0.113.7'
const B = '203.0.113.9'

let hub: TestHub
beforeAll(async () => {
  hub = await testHub(SETTINGS)
})
afterAll(() => hub[Symbol.asyncDispose]())

/** One connection of an agent: its address, and its boot and process where it reports them. */
type Visit = { address: string; instance?: string; url?: string }

/** Connects one identity again and again, each time while the connection before is still open. */
async function visits(...all: Visit[]) {
  const fleet = await hub.fleet()
  const identity = await deviceIdentity()
  await using stack = new AsyncDisposableStack()
  let deviceId = ''
  for (const [at, visit] of all.entries()) {
    const device = stack.use(await visitOf(fleet.token, identity, visit))
    ;({ deviceId } = device)
    const details = await until('the older connection has ended', async () => {
      const { connections } = await fleet.owner.invoke('devices_QueryConnections', { deviceId })
      return connections.length === at + 1 && connections.slice(1).every(one => one.endedAt !== undefined)
        ? connections
        : undefined
    })
    expect(details[0]).not.toHaveProperty('endedAt')
  }
  const { connections } = await fleet.owner.invoke('devices_QueryConnections', { deviceId })
  return { ...fleet, deviceId, connections, token: fleet.token }
}

function visitOf(token: string, identity: DeviceIdentity, { address, instance, url = hub.url }: Visit) {
  const headers = {
    'x-forwarded-for': address,
    'x-muster-proxy-secret': PROXY_SECRET,
    ...(instance && { 'x-agent-instance': instance }),
  }
  return connectDevice({ url, token, identity, headers })
}

type Visited = Awaited<ReturnType<typeof visits>>

const sharedOf = async ({ owner, deviceId }: Visited) =>
  (await owner.invoke('devices_GetDetails', { deviceId })).sharedIdentity

describe('D1: machines that take one identity over from each other', () => {
  it('are a problem of the device, with count and addresses, in the list, as an event and as metrics', async () => {
    const of = await visits({ address: A }, { address: B }, { address: A }, { address: B })
    const shared = await until('the problem is found', () => sharedOf(of))
    expect(shared).toEqual({
      takeovers: 3,
      addresses: [A, B],
      firstAt: expect.any(String),
      lastAt: expect.any(String),
    })
    const { owner, projectId, deviceId, token } = of
    await using _other = await connectDevice({ url: hub.url, token })
    const all = await owner.invoke('projects_QueryDevices', { projectId })
    expect(all.devices.filter(one => one.hasSharedIdentity).map(one => one.deviceId)).toEqual([deviceId])
    const some = await owner.invoke('projects_QueryDevices', {
      projectId,
      limit: 10,
      filter: { preset: 'sharedIdentity' },
    })
    expect(some.devices.map(one => one.deviceId)).toEqual([deviceId])
    const events = (await auditEvents(hub)).filter(({ event }) => event === 'devices_IdentityShared')
    expect(events).toMatchObject([{ data: { projectId, deviceId, takeovers: 3, addresses: [A, B] } }])
    const scrape = await fetch(`http://127.0.0.1:${hub.operatorPort}/metrics`, {
      headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
    })
    const metrics = await scrape.text()
    expect(metrics).toMatch(/^muster_device_takeovers_total\S* 3$/m)
    expect(metrics).toMatch(/^muster_shared_identities\S* 1$/m)
    expect(of.connections.map(({ endReason, wasTakenOver }) => [endReason, wasTakenOver])).toEqual([
      [undefined, undefined],
      ...Array(3).fill(['Disconnected', true]),
    ])
  })

  it('end as a problem ten minutes after the last takeover, and begin anew with another event', async () => {
    const of = await visits({ address: A }, { address: B }, { address: A }, { address: B })
    await until('the problem is found', () => sharedOf(of))
    const { deviceId, owner, projectId } = of
    await hub.pool.query(
      `update device_shared_identity set last_at = now() - interval '10 minutes', first_at = now() - interval '1 hour' where device_id = $1`,
      [deviceId],
    )
    expect(await sharedOf(of)).toBeUndefined()
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect(devices[0]).not.toHaveProperty('hasSharedIdentity')
  })

  it.each<[string, Visit[]]>([
    [
      'two processes on one machine',
      [A, A, A, A].map((address, at) => ({ address, instance: `boot.${at % 2}` })),
    ],
    [
      'two machines behind one address',
      [A, A, A, A].map((address, at) => ({ address, instance: `boot${at % 2}.1` })),
    ],
    ['three machines', [0, 1, 2, 0, 1].map(at => ({ address: `${A}${at}`, instance: `boot${at}.1` }))],
  ])('are told apart by boot and process: %s', async (name, all) => {
    const of = await visits(...all)
    const shared = await until('the problem is found', () => sharedOf(of))
    expect(shared!.takeovers).toBe(all.length - 1)
    expect(shared!.addresses).toEqual(name === 'three machines' ? [`${A}0`, `${A}1`] : [A])
    expect(shared!.isOneMachine).toBe(name.startsWith('two processes') || undefined)
  })

  it.each<[string, Visit[]]>([
    ['one machine that reconnects', Array(6).fill({ address: A })],
    [
      'one machine with a changing address',
      [A, B, A, B, A].map(address => ({ address, instance: 'boot.1' })),
    ],
    ['a machine that moves through networks', [1, 2, 3, 4, 5].map(at => ({ address: `198.51.100.${at}` }))],
    ['a machine that restarts', [1, 2, 3, 4, 5].map(at => ({ address: A, instance: `boot${at}.1` }))],
    ['two takeovers', [A, B, A].map(address => ({ address }))],
    ['texts that are no instance', [A, A, A, A].map((address, at) => ({ address, instance: `${at % 2}` }))],
  ])('are not: %s', async (_name, all) => {
    const of = await visits(...all)
    // The hub looks at takeovers in their order, so those of another device come after those of this device.
    const other = await visits({ address: A }, { address: B }, { address: A }, { address: B })
    await until('the other one is found', () => sharedOf(other))
    expect(await sharedOf(of)).toBeUndefined()
  })

  it('are found on two nodes, whichever holds the connection', async () => {
    await using node = await secondNode(hub, SETTINGS)
    const of = await visits(
      { address: A },
      { address: B, url: node.url },
      { address: A },
      { address: B, url: node.url },
    )
    const shared = await until('the problem is found', () => sharedOf(of))
    expect(shared).toMatchObject({ takeovers: 3, addresses: [A, B] })
  })
})
