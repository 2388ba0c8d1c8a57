import { newDatedId } from '@muster/actions'
import { ExecutorClient } from '@muster/link'
import {
  capturedLog,
  connectDevice,
  connectPerson,
  databaseSession,
  deviceRow,
  digestOf,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { createLog } from '../runtime/log.ts'
import { DatabaseShares } from './database-shares.ts'

const { limits } = loadConfig({})
/** Settings of a hub whose statements take long while a test holds a lock. By default, calls that meet a lock are repeated. */
const SLOW = { callerLockMs: 60_000 }

it('leaves connections for others while one person runs more long queries than the pool has connections', async () => {
  await using hub = await testHub(SLOW)
  const { owner, organizationId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const otherFleet = await hub.fleet()
  await deviceRow(hub, otherFleet.projectId)
  await using session = await databaseSession(hub)
  // Queries that read properties now wait for this lock, up to the statement timeout.
  await session.lock('device_property')
  const { projectId } = otherFleet
  const filter = { properties: [{ property: 'log', operator: 'contains' as const, value: 'x' }] }
  const pending = Array.from({ length: 24 }, () =>
    otherFleet.owner.invoke('projects_QueryDevices', { projectId, filter, limit: 1 }).then(
      ({ total }) => total,
      (error: { kind: string }) => error.kind,
    ),
  )
  await session.waitingStatements(2)

  await device.invoke('devices_PublishEvents', { deviceId, events: [event()] })
  await owner.invoke('organizations_SetName', { organizationId, name: 'Harbor' })
  expect(await owner.invoke('organizations_Query', { filter: { text: 'harb' } })).toMatchObject({
    organizations: [{ organizationId }],
  })
  expect(await owner.invoke('organizations_Search', { organizationId, text: 'nothing' })).toMatchObject({
    devices: [],
  })
  await using _another = await connectDevice({ url: hub.url, token })

  await session.release()
  // Each query returns its result, or `RateLimited` if it waited too long.
  expect(new Set(await Promise.all(pending)).difference(new Set([0, 'RateLimited'])).size).toBe(0)
})

/** Answer of a call: `Answered`, or the kind of its error. */
const outcomeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'Answered',
    (error: { kind?: string }) => error.kind ?? String(error),
  )

/** Filter with eight conditions, each of which reads a property of each device. */
const EIGHT_CONDITIONS = {
  properties: Array.from({ length: 8 }, (_, at) => ({
    property: 'log',
    operator: 'contains' as const,
    value: `x${at}`,
  })),
}
/** Eight columns whose paths have as many parts as a column may have. */
const EIGHT_COLUMNS = Array.from({ length: 8 }, (_, at) => `a${at}.b.c.d.e.f.g.h`)

describe('S25: while one member starts many slow calls', () => {
  it.each<[string, number, boolean, (member: TestUser, projectId: string) => Promise<unknown>]>([
    [
      'previews of bulk deletions with eight conditions on a property',
      24,
      true,
      (member, projectId) =>
        member.invoke('devices_CreateBulkDeletion', {
          projectId,
          selection: { kind: 'filter', filter: EIGHT_CONDITIONS },
        }),
    ],
    [
      'lists without a limit with eight columns',
      40,
      false,
      (member, projectId) => member.invoke('projects_QueryDevices', { projectId, columns: EIGHT_COLUMNS }),
    ],
  ])('%s, other tenants, readiness, heartbeats and jobs go on', async (_what, calls, isReported, attack) => {
    const captured = capturedLog()
    await using hub = await testHub({ ...SLOW, heartbeatMs: 500 }, captured.log)
    const member = await hub.fleet()
    await deviceRow(hub, member.projectId)
    const other = await hub.fleet()
    await using session = await databaseSession(hub)
    // The calls of the member read properties, so they wait for this lock, like statements that read gigabytes.
    await session.lock('device_property')
    const attacked = Array.from({ length: calls }, () => outcomeOf(attack(member.owner, member.projectId)))
    await session.waitingStatements(2)

    const { organizationId } = other
    const names = Array.from({ length: 30 }, (_, at) => `Harbor ${at}`)
    expect(
      await Promise.all(
        names.map(name => outcomeOf(other.owner.invoke('organizations_SetName', { organizationId, name }))),
      ),
    ).toEqual(names.map(() => 'Answered'))
    expect(await (await fetch(`${hub.url}/readyz`)).json()).toEqual({ status: 'ready' })
    const beats = async () => (await session.query('select last_heartbeat from cluster_node'))[0]
    const before = await beats()
    await until('a heartbeat is stored', async () => {
      const now = await beats()
      return JSON.stringify(now) !== JSON.stringify(before)
    })
    await hub.runJob('devices_SweepHistory', {})
    // Two long queries at a time, whatever their number.
    expect(await session.waitingCount()).toBe(2)

    // Previews end after 10 s. Calls that have waited for 10 s are refused, and operators get one line about all of them.
    if (isReported) {
      await until('a limit is reported', async () => captured.named('a limit was hit').length > 0)
      expect(captured.named('a limit was hit')).toMatchObject([
        { limit: 'person-long-queries', userId: member.owner.userId },
      ])
    }
    await session.release()
    const possible = new Set(['Answered', 'RateLimited', 'Invalid'])
    expect(new Set(await Promise.all(attacked)).difference(possible).size).toBe(0)
  })
})

it('S25: gives a person a third of the pool, over all transports, and the rest to others', async () => {
  await using hub = await testHub(SLOW)
  const { owner, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const other = await hub.fleet()
  await using otherDevice = await connectDevice({ url: hub.url, token: other.token })
  const bearer = await hub.userToken(owner)
  await using link = await connectPerson(hub.url, bearer)
  await using session = await databaseSession(hub)
  await session.lock('device_property')
  const input = { deviceId, limit: 10 }
  const tokenInvoke = hub.withToken(bearer)
  const pending = Array.from({ length: 8 }, () => [
    outcomeOf(owner.invoke('devices_QueryProperties', input)),
    outcomeOf(tokenInvoke('devices_QueryProperties', input)),
    outcomeOf(
      link
        .open('executor')
        .then(channel => new ExecutorClient(channel).invoke('devices_QueryProperties', input)),
    ),
  ]).flat()
  await session.waitingStatements(3)
  // A statement of another person is the fourth, and a command of the same person needs no connection that the others hold.
  const others = outcomeOf(
    other.owner.invoke('devices_QueryProperties', { deviceId: otherDevice.deviceId, limit: 10 }),
  )
  await session.waitingStatements(4)
  expect(await session.waitingCount()).toBe(4)
  const { organizationId } = other
  await other.owner.invoke('organizations_SetName', { organizationId, name: 'Quay' })
  expect(await session.waitingCount()).toBe(4)
  await session.release()
  expect(await others).toBe('Answered')
  expect(new Set(await Promise.all(pending))).toEqual(new Set(['Answered']))
})

it('S26: counts the files of a blob with connections of the person, and not with the one of look-ups', async () => {
  await using hub = await testHub(SLOW)
  const { owner, organizationId } = await hub.fleet()
  const repositoryId = await hub.repository(owner, organizationId)
  const { assetId } = await owner.invoke('repositories_CreateAsset', {
    repositoryId,
    size: 3,
    digest: digestOf(Buffer.from('abc')),
  })
  await using session = await databaseSession(hub)
  await session.lock('version_asset')
  const pending = Array.from({ length: 6 }, () => owner.invoke('repositories_GetAssetDetails', { assetId }))
  await session.waitingStatements(3)
  expect(await session.waitingCount()).toBe(3)
  await session.release()
  for (const one of await Promise.all(pending)) expect(one).toMatchObject({ referenceCount: 0 })
})

it('S25: leaves connections to telemetry and connecting devices while many people wait for a table', async () => {
  await using hub = await testHub(SLOW)
  const { owner, organizationId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const people = await Promise.all(Array.from({ length: 6 }, () => hub.user()))
  for (const { userId } of people)
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: userId })
      .execute()
  await using session = await databaseSession(hub)
  await session.lock('device_property')
  const pending = [owner, ...people].flatMap(({ invoke }) =>
    Array.from({ length: 4 }, () => outcomeOf(invoke('devices_QueryProperties', { deviceId, limit: 10 }))),
  )
  await session.waitingStatements(9)
  for (let n = 0; n < 5; n++) await device.invoke('devices_PublishEvents', { deviceId, events: [event()] })
  await using _another = await connectDevice({ url: hub.url, token })
  expect(await session.waitingCount()).toBe(9)
  await session.release()
  expect(new Set(await Promise.all(pending)).difference(new Set(['Answered', 'Internal'])).size).toBe(0)
})

function event() {
  return {
    eventId: newDatedId('d_ev'),
    severity: 'Info' as const,
    body: 1,
    attributes: {},
    emittedAt: new Date().toISOString(),
  }
}

it('S25: a row that is locked in one organization does not delay the same action of another one', async () => {
  await using hub = await testHub()
  const locked = await hub.fleet()
  const other = await hub.fleet()
  const members = [locked.owner, ...(await Promise.all(Array.from({ length: 4 }, () => hub.user())))]
  for (const { userId } of members.slice(1))
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: locked.organizationId, user_id: userId, is_admin: true })
      .execute()
  const rename = ({ invoke }: TestUser, organizationId: string) =>
    invoke('organizations_SetName', { organizationId, name: 'Quay' })
  await using session = await databaseSession(hub)
  await session.query('begin')
  await session.query('select from organization where organization_id = $1 for update', [
    locked.organizationId,
  ])
  let answered = 0
  const waiting = members.flatMap(member =>
    Array.from({ length: 6 }, () =>
      outcomeOf(rename(member, locked.organizationId)).finally(() => answered++),
    ),
  )
  await session.waitingStatements(2)
  const startedAtMs = performance.now()
  for (let count = 0; count < 5; count++) await rename(other.owner, other.organizationId)
  // Before, each of these calls waited in the queue of the others for 2 to 3 s. The bound leaves room for a busy machine.
  expect(performance.now() - startedAtMs).toBeLessThan(5_000)
  expect(answered).toBe(0)
  await session.release()
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['Answered']))
})

it('S25: runs commands of one person that need several connections, with a share of one', async () => {
  await using hub = await testHub({ limits: { ...limits, 'person-database-connections': 1 } })
  const { owner, organizationId, projectId } = await hub.fleet()
  const deviceIds = await Promise.all(Array.from({ length: 8 }, () => deviceRow(hub, projectId)))
  const { bulkActionId, itemCount } = await owner.invoke('devices_CreateBulkDeletion', {
    projectId,
    selection: { kind: 'filter', filter: { text: 'd' } },
  })
  expect(itemCount).toBe(deviceIds.length)
  const calls = [
    owner.invoke('devices_StartBulkDeletion', { projectId, bulkActionId }),
    ...Array.from({ length: 12 }, (_, at) =>
      owner.invoke('organizations_SetName', { organizationId, name: `Harbor ${at}` }),
    ),
    ...Array.from({ length: 12 }, () => owner.invoke('projects_QueryDevices', { projectId, limit: 200 })),
  ]
  expect(new Set(await Promise.all(calls.map(outcomeOf)))).toEqual(new Set(['Answered']))
  expect(await owner.invoke('devices_GetBulkAction', { projectId, bulkActionId })).toMatchObject({
    succeededCount: 8,
  })
})

it('S25: refuses a call that waits too long for a connection, and names the limit', async () => {
  await using hub = await testHub({}, createLog('silent'))
  const { owner } = await hub.fleet()
  const values = { ...limits, 'person-database-connections': 1, 'person-long-queries': 1 }
  const shares = new DatabaseShares(hub.db, values, { waitMs: 50 })
  const personOf = (userId: string) =>
    shares.of({ actor: 'UserToken', userId, tokenId: 'token', isAdmin: false }, undefined, 'test')
  const { promise, resolve: end } = Promise.withResolvers<void>()
  const { signal } = new AbortController()
  const ada = personOf(owner.userId)
  const select = sql<{ one: number }>`select 1 as one`
  const first = ada.long(signal, () => ada.db.transaction().execute(() => promise))
  await expect(personOf(owner.userId).long(signal, async () => 'second')).rejects.toMatchObject({
    kind: 'RateLimited',
    message:
      'Limit person-long-queries: found 2, expected at most 1 long queries. Wait until other calls have ended, and send fewer at once.',
    retryAfterSecs: 5,
    subject: { userId: owner.userId },
  })
  await expect(select.execute(personOf(owner.userId).db)).rejects.toMatchObject({
    kind: 'RateLimited',
    message:
      'Limit person-database-connections: found 2, expected at most 1 database connections. Wait until other calls have ended, and send fewer at once.',
    retryAfterSecs: 5,
    subject: { userId: owner.userId },
  })
  const grace = personOf('u_grace')
  expect(await grace.long(signal, async () => 'other')).toBe('other')
  expect((await select.execute(grace.db)).rows).toEqual([{ one: 1 }])
  // All long queries together have a limit too, which is nobody's own.
  const busy = ['b', 'c', 'd'].map(userId => personOf(userId).long(signal, () => promise))
  await expect(grace.long(signal, async () => 'fifth')).rejects.toMatchObject({
    kind: 'RateLimited',
    message: 'Too many long queries run at once: try again later.',
    retryAfterSecs: 5,
  })
  end()
  await Promise.all([first, ...busy])
})

it('S25: leaves a long query to a third person while two run as many as they may', async () => {
  await using hub = await testHub({}, createLog('silent'))
  const shares = new DatabaseShares(hub.db, limits, { waitMs: 50 })
  const { promise, resolve: end } = Promise.withResolvers<string>()
  const { signal } = new AbortController()
  const run = (userId: string) =>
    shares
      .of({ actor: 'UserToken', userId, tokenId: 'token', isAdmin: false }, undefined, 'test')
      .long(signal, () => promise)
  const running = [run('u_ada'), run('u_ada'), run('u_grace')]
  await expect(run('u_grace')).rejects.toMatchObject({ kind: 'RateLimited', retryAfterSecs: 5 })
  running.push(run('u_joan'))
  await expect(run('u_mary')).rejects.toMatchObject({ kind: 'RateLimited' })
  end('read')
  expect(await Promise.all(running)).toEqual(['read', 'read', 'read', 'read'])
})

it('S25: reads few pages of one person at once while other people call, and does not hold up other calls', async () => {
  const captured = capturedLog()
  await using hub = await testHub({ ...SLOW, limits: { ...limits, 'person-pages': 2 } }, captured.log)
  const { owner, projectId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  await using session = await databaseSession(hub)
  await session.lock('device_property')
  const readPage = () => outcomeOf(owner.invoke('devices_QueryProperties', { deviceId, limit: 10 }))
  // Alone, the person holds all of their connections.
  const alone = Array.from({ length: 3 }, readPage)
  await session.waitingStatements(3)
  await session.release()
  expect(await Promise.all(alone)).toEqual(['Answered', 'Answered', 'Answered'])

  const other = await hub.fleet()
  const { organizationId } = other
  const rename = () => other.owner.invoke('organizations_SetName', { organizationId, name: 'Quay' })
  await session.lock('device_property')
  await rename()
  const properties = Array.from({ length: 3 }, readPage)
  await session.waitingStatements(2)
  // These calls do not read the locked table. Only `projects_QueryDevices` is a page.
  await rename()
  expect(await owner.invoke('projects_QueryDevices', { projectId, filter: { text: 'd' } })).toMatchObject({
    devices: [{ deviceId }],
  })
  expect(await owner.invoke('projects_GetDetails', { projectId })).toMatchObject({ projectId })
  const refused = Promise.all([
    outcomeOf(owner.invoke('projects_QueryDevices', { projectId, limit: 1 })),
    // Joined queries count as a page, too.
    outcomeOf(owner.invoke('devices_GetPage', { deviceId, devices_GetDetails: [{}] })),
  ])
  expect(await session.waitingCount()).toBe(2)
  expect(await refused).toEqual(['RateLimited', 'RateLimited'])
  await until('the limit is reported', async () => captured.named('a limit was hit').length > 0)
  expect(captured.named('a limit was hit')).toMatchObject([{ limit: 'person-pages', userId: owner.userId }])
  await session.release()
  expect((await Promise.all(properties)).slice(0, 2)).toEqual(['Answered', 'Answered'])
  expect(await owner.invoke('projects_QueryDevices', { projectId, limit: 1 })).toMatchObject({
    devices: [{ deviceId }],
  })
})

it('S25: answers lists without a limit to many calls of one person, as public command lines send them', async () => {
  await using hub = await testHub()
  const { owner, organizationId, projectId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const calls = Array.from({ length: 20 }, () => [
    owner.invoke('projects_QueryDevices', { projectId }),
    owner.invoke('organizations_QueryProjects', { organizationId }),
    owner.invoke('devices_QueryProperties', { deviceId }),
    device.invoke('devices_QueryProperties', { deviceId }),
  ]).flat()
  expect(new Set(await Promise.all(calls.map(outcomeOf)))).toEqual(new Set(['Answered']))
})
