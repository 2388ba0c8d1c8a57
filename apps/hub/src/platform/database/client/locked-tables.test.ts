import { newDatedId } from '@muster/actions'
import { connectDevice, databaseSession, type FakeDevice, type TestHub, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'

/** Calls by name. Each resolves when the hub has answered. */
type Calls = Record<string, () => Promise<unknown>>

/** Number of calls that wait for the locked table while others go on: more than the pool has connections. */
const WAITING = 24

/**
 * For each table, a call that needs it, and calls that do not. `event` and `property` are of a device, `connect` opens a link of a known
 * device, `session` and `token` are of people.
 */
it.each<[table: string, needing: string, others: string[]]>([
  ['session', 'session', ['event', 'property', 'connect', 'token', 'anonymous']],
  ['user_token', 'token', ['event', 'property', 'connect', 'session', 'settings', 'rename', 'anonymous']],
  ['device', 'device', ['session', 'token', 'rename', 'settings', 'project', 'anonymous']],
  ['device_certificate', 'connect', ['event', 'property', 'session', 'token', 'rename', 'anonymous']],
  [
    'device_property',
    'properties',
    ['event', 'connect', 'session', 'device', 'token', 'rename', 'anonymous'],
  ],
  ['device_event', 'events', ['property', 'connect', 'session', 'device', 'token', 'rename', 'anonymous']],
  ['device_connection', 'connections', ['event', 'property', 'session', 'rename', 'anonymous']],
  ['project', 'project', ['event', 'property', 'session', 'token', 'rename', 'anonymous']],
  ['organization_member', 'project', ['event', 'property', 'connect', 'anonymous']],
  ['repository', 'repository', ['event', 'property', 'connect', 'session', 'device', 'rename', 'anonymous']],
  ['audit_action', 'rename', ['event', 'property', 'connect', 'session', 'device', 'project', 'anonymous']],
  ['audit_event', 'rename', ['event', 'property', 'connect', 'session', 'device', 'project', 'anonymous']],
])('S26: while %s is locked, %s waits and other actions go on', async (table, needing, others) => {
  await using hub = await testHub()
  await using fleet = await fleetOf(hub)
  const { calls } = fleet
  await using session = await databaseSession(hub)
  const needed = calls[needing]!
  // Each call runs before the lock too, so that its statements are prepared and its rights are known.
  await Promise.all([needing, ...others].map(name => calls[name]!()))
  await session.lock(table)
  let answered = 0
  const waiting = Array.from({ length: WAITING }, () =>
    needed().then(
      () => answered++,
      () => answered++,
    ),
  )
  await session.waitingStatements(1)
  for (const name of others) {
    await expect(calls[name]!(), `${name} while ${table} is locked`).resolves.not.toThrow()
    expect(answered, `${needing} while ${table} is locked`).toBe(0)
  }
  expect(await (await fetch(`${hub.url}/readyz`)).json()).toMatchObject({ status: 'ready' })
  await session.release()
  await Promise.all(waiting)
  await needed()
})

async function fleetOf(hub: TestHub): Promise<{ calls: Calls } & AsyncDisposable> {
  const { owner, organizationId, projectId, token } = await hub.fleet()
  const other = await hub.fleet()
  const withToken = hub.withToken(await hub.userToken(owner))
  const repositoryId = await hub.repository(owner, organizationId)
  const device = await connectDevice({ url: hub.url, token })
  const known = await connectDevice({ url: hub.url, token })
  const links: FakeDevice[] = []
  const { deviceId } = device
  const { userId } = owner
  const calls: Calls = {
    event: () => device.invoke('devices_PublishEvents', { deviceId, events: [event()] }),
    property: () => device.invoke('devices_SetProperty', { deviceId, name: 'load', value: Math.random() }),
    connect: async () => {
      links.push(await connectDevice({ url: hub.url, token, identity: known.identity, register: false }))
    },
    session: () => owner.invoke('actor_GetActor', {}),
    token: () => withToken('actor_GetActor', {}),
    settings: () => owner.invoke('users_GetDetails', { userId }),
    // A person of another tenant, so that the limits of the first one do not matter.
    rename: () =>
      other.owner.invoke('organizations_SetName', { organizationId: other.organizationId, name: 'Quay' }),
    device: () => owner.invoke('devices_GetDetails', { deviceId }),
    properties: () => owner.invoke('devices_QueryProperties', { deviceId, limit: 10 }),
    events: () => owner.invoke('devices_QueryEvents', { deviceId, limit: 10 }),
    connections: () => owner.invoke('devices_QueryConnections', { deviceId, limit: 10 }),
    project: () => owner.invoke('projects_GetDetails', { projectId }),
    repository: () => owner.invoke('repositories_GetDetails', { repositoryId }),
    anonymous: () => hub.anonymous('actor_GetActor', {}),
  }
  return {
    calls,
    async [Symbol.asyncDispose]() {
      for (const one of [device, known, ...links]) await one[Symbol.asyncDispose]()
    },
  }
}

function event() {
  return {
    eventId: newDatedId('d_ev'),
    severity: 'Info' as const,
    body: 1,
    attributes: {},
    emittedAt: new Date().toISOString(),
  }
}
