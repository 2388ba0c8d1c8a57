import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { type Invoke, newId } from '@muster/actions'
import {
  type CapturedLog,
  capturedLog,
  connectDevice,
  connectPerson,
  type DatabaseWire,
  databaseWire,
  forwardLocally,
  type LiveStream,
  liveStream,
  type ScratchDatabase,
  scratchDatabase,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { instanceKeyOf } from '../credentials/instance-key.ts'

const KEY = 'ab'.repeat(32)
const REASON = 'certificate or token is no longer valid'

/** Two nodes. Once each knows the other, faked timers stop polls and heartbeats, so changes reach a node only over the bus. */
let a: TestHub
let b: TestHub
let database: ScratchDatabase
/** TCP proxy between the bus of node `b` and the database. Tests interrupt it. */
let wire: DatabaseWire
let logOfB: CapturedLog
/** A stream that opened at `b` before `a` had connected its bus. */
let early: LiveStream
const stack = new AsyncDisposableStack()

beforeAll(async () => {
  database = stack.use(await scratchDatabase('muster'))
  wire = stack.use(await databaseWire(database))
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  stack.defer(() => void vi.useRealTimers())
  const { log, named } = capturedLog()
  a = stack.use(await testHub({ databaseUrl: database.url, instanceKey: KEY, nodeName: 'a' }, log))
  expect(await busSessions()).toBe(0)
  logOfB = capturedLog('info')
  b = stack.use(
    await testHub(
      { databaseUrl: database.url, databaseDirectUrl: wire.url, instanceKey: KEY, nodeName: 'b' },
      logOfB.log,
    ),
  )
  const { owner, projectId } = await a.fleet()
  early = stack.use(await liveStream(b, owner))
  const here = stack.use(await liveStream(a, owner))
  await owner.invoke('projects_SetName', { projectId, name: 'Renamed' })
  // Notices are sent 200 ms after the change, to consoles of this node and to the bus.
  await until('the change is sent', () => here.changes.length > 0)
  expect(early.isOpen).toBe(true)
  // A node without other nodes does not connect its bus. The next heartbeat finds the second node.
  await vi.advanceTimersByTimeAsync(5_000)
  await until('the bus of a is connected', () => named('the bus between nodes is connected').length > 0)
  expect(await busSessions()).toBe(2)
})
// Both nodes store a heartbeat. Otherwise they would take each other for dead after 20 s.
beforeEach(async () => void (await vi.advanceTimersByTimeAsync(5_000)))
afterAll(() => stack.disposeAsync())

/** Number of database sessions that buses have open. */
async function busSessions(): Promise<number> {
  const rows = await database.query(
    "select from pg_stat_activity where datname = current_database() and application_name = 'muster bus'",
  )
  return rows.length
}

describe('a console', () => {
  it('loads again what another node has changed before its bus was connected', async () => {
    await early.ended
    expect(early.changes).toEqual([])
  })

  it('sees what changes on another node, in its own organizations', async () => {
    const { owner, organizationId, token } = await a.fleet()
    const other = await a.fleet()
    await using stream = await liveStream(b, owner)
    await using foreign = await liveStream(b, other.owner)
    await using device = await connectDevice({ url: a.url, token })
    const { deviceId } = device
    await until('the device appears', () =>
      stream.changes.some(change => change.topic === 'connections' && change.deviceId === deviceId),
    )
    await device.invoke('devices_SetProperty', { deviceId, name: 'x', value: 1 })
    await until('the property changes', () => stream.changes.some(({ topic }) => topic === 'properties'))
    expect(stream.changes.every(change => change.organizationId === organizationId)).toBe(true)
    expect(foreign.changes.filter(change => change.organizationId !== other.organizationId)).toEqual([])
  })

  it('of a person who is added on another node follows the organization', async () => {
    const { owner } = await a.fleet()
    const inviting = await a.fleet()
    await using stream = await liveStream(b, owner)
    await inviting.owner.invoke('organizations_InviteMember', {
      organizationId: inviting.organizationId,
      email: owner.email,
    })
    await until('the invitation arrives', () => stream.changes.some(({ topic }) => topic === 'invitations'))
  })
})

describe('a connection of a device ends at once when on another node', () => {
  it.each<[string, (invoke: Invoke, ids: Record<string, string>) => Promise<unknown>]>([
    [
      'its certificate is revoked',
      (invoke, { certificateId }) =>
        invoke('devices_SetCertificateStatus', { certificateId: certificateId!, status: 'Revoked' }),
    ],
    [
      'its certificate is deleted',
      (invoke, { certificateId }) => invoke('devices_DeleteCertificate', { certificateId: certificateId! }),
    ],
    [
      'its token is deleted',
      (invoke, { tokenId }) => invoke('projects_DeleteDeploymentToken', { tokenId: tokenId! }),
    ],
    ['it is deleted', (invoke, { deviceId }) => invoke('devices_Delete', { deviceId: deviceId! })],
    [
      'its project is deleted',
      (invoke, { projectId }) => invoke('projects_Delete', { projectId: projectId! }),
    ],
    [
      'its organization is deleted',
      (invoke, { organizationId }) => invoke('organizations_Delete', { organizationId: organizationId! }),
    ],
  ])('%s', async (_name, end) => {
    const { owner, organizationId, projectId, tokenId, token } = await a.fleet()
    await using device = await connectDevice({ url: b.url, token })
    await using unaffected = await connectDevice({ url: b.url, token: (await a.fleet()).token })
    const { deviceId } = device
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
    const { certificateId } = certificates[0]!
    await end(owner.invoke, { deviceId, certificateId, tokenId, projectId, organizationId })
    expect(await device.link.ended).toEqual({ kind: 'PeerClose', reason: REASON })
    expect(unaffected.link.isOpen).toBe(true)
  })

  it('it connects there', async () => {
    const { token } = await a.fleet()
    await using older = await connectDevice({ url: b.url, token })
    await using newer = await connectDevice({ url: a.url, token, identity: older.identity })
    expect(await older.link.ended).toEqual({
      kind: 'PeerClose',
      reason: 'replaced by a newer connection of this device',
    })
    expect(newer.link.isOpen).toBe(true)
  })
})

/** Waits until a forwarded connection ends, with or without an error. */
async function endOf(channel: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _piece of channel);
  } catch {}
}

describe('connections of a person end at once when on another node', () => {
  let service: Server
  beforeAll(async () => {
    service = createServer(socket => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1')
    await once(service, 'listening')
  })
  afterAll(() => void service.close())

  it('the session ends: the live stream', async () => {
    const { owner } = await a.fleet()
    const second = await a.user()
    await using stream = await liveStream(b, owner)
    await using other = await liveStream(b, second)
    const { sessions } = await owner.invoke('users_QuerySessions', { userId: owner.userId })
    await owner.invoke('users_TerminateSession', { sessionId: sessions[0]!.sessionId })
    await stream.ended
    expect(other.isOpen).toBe(true)
  })

  it('the user token is deleted: the link and the forward of a command line', async () => {
    const { owner, token } = await a.fleet()
    await using device = await connectDevice({ url: b.url, token, link: { onRequest: forwardLocally } })
    await using kept = await connectPerson(b.url, await a.userToken(owner))
    const secret = await a.userToken(owner)
    await using line = await connectPerson(b.url, secret)
    const { port } = service.address() as AddressInfo
    const endpoint = `device/${device.deviceId}/proxy/forward/tcp/${port}`
    const [channel, keptChannel] = [await line.open(endpoint), await kept.open(endpoint)]
    const { tokens } = await owner.invoke('users_QueryTokens', { userId: owner.userId })
    const { tokenId } = tokens.find(one => secret.includes(one.tokenId.slice('u_pk_'.length)))!
    await owner.invoke('users_DeleteToken', { tokenId })
    expect(await line.ended).toMatchObject({ reason: 'the user token is no longer valid' })
    await endOf(channel)
    await keptChannel.write(Buffer.from('still open'))
    for await (const piece of keptChannel) {
      expect(Buffer.from(piece).toString()).toBe('still open')
      break
    }
    expect(kept.isOpen).toBe(true)
  })

  it('the person leaves the organization: the forward', async () => {
    const { owner, organizationId, token } = await a.fleet()
    const member = await a.user()
    await a.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: member.userId })
      .execute()
    await using device = await connectDevice({ url: b.url, token, link: { onRequest: forwardLocally } })
    await using line = await connectPerson(b.url, await a.userToken(member))
    const { port } = service.address() as AddressInfo
    const channel = await line.open(`device/${device.deviceId}/proxy/forward/tcp/${port}`)
    await owner.invoke('organizations_RemoveMember', { organizationId, userId: member.userId })
    await endOf(channel)
    expect(line.isOpen).toBe(true)
  })
})

/** Sends messages of a subject to the nodes, as a node would that is wrong, slow or not one of ours. */
async function forge(subject: string, ...messages: object[]): Promise<void> {
  const channel = `muster.${instanceKeyOf(KEY)('bus').toString('hex').slice(0, 12)}.${subject}`
  const text = JSON.stringify({ from: newId('cluster_node'), messages })
  await database.query(`select pg_notify('${channel}', '${text}')`)
}

describe('a message of the bus that is repeated, late or foreign', () => {
  it('is one notice to a console, however often it comes', async () => {
    const { owner, organizationId, projectId } = await b.fleet()
    await using stream = await liveStream(b, owner)
    const change = { topic: 'projects', organizationId, projectId }
    await forge(`live.${organizationId}`, ...Array.from({ length: 50 }, () => change))
    await until('the notice arrives', () => stream.changes.length > 0)
    await forge(`live.${organizationId}`, { topic: 'devices', organizationId })
    await until('a later notice arrives', () => stream.changes.some(({ topic }) => topic === 'devices'))
    expect(stream.changes).toEqual([change, { topic: 'devices', organizationId }])
  })

  it('ends no right and no connection that the rows do not end', async () => {
    const { owner, organizationId, projectId, tokenId, token } = await b.fleet()
    const other = await b.fleet()
    await using stream = await liveStream(b, owner)
    await using device = await connectDevice({ url: b.url, token })
    await using atA = await connectDevice({ url: a.url, token: other.token })
    await using person = await connectPerson(b.url, await b.userToken(owner))
    const { deviceId } = device
    const { certificates, connections } = await owner.invoke('devices_GetDetails', { deviceId })
    const { certificateId } = certificates[0]!
    // The forged messages report rights as ended that still exist, as a late message does after a right was given again.
    const ids = { userId: owner.userId, certificateId, tokenId, deviceId, projectId, organizationId }
    for (let round = 0; round < 3; round++)
      await forge('rights', ...Object.entries(ids).map(([key, id]) => ({ [key]: id })))
    const foreign = await other.owner.invoke('devices_GetDetails', { deviceId: atA.deviceId })
    await forge('rights', { organizationId: other.organizationId }, { deviceId: newId('d') })
    await forge(
      `node.${b.nodeId}`,
      { connectionId: connections[0]!.connectionId },
      { connectionId: foreign.connections[0]!.connectionId },
      { connectionId: newId('d_conn') },
    )
    // Two notices take longer than the hub needs to check what the messages name.
    for (const topic of ['devices', 'links'] as const) {
      await forge(`live.${organizationId}`, { topic, organizationId })
      await until('a later notice arrives', () => stream.changes.some(change => change.topic === topic))
    }
    await device.invoke('devices_SetProperty', { deviceId, name: 'x', value: 1 })
    expect([device.link.isOpen, atA.link.isOpen, person.isOpen, stream.isOpen]).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(logOfB.named('messages from other nodes were ignored')).toEqual([])
  })

  it('about another organization is ignored, with one log line', async () => {
    const { owner, organizationId } = await b.fleet()
    const other = await b.fleet()
    await using stream = await liveStream(b, owner)
    const change = { topic: 'projects', organizationId: other.organizationId }
    await forge(`live.${organizationId}`, change, change)
    await forge(`node.${b.nodeId}`, { connectionId: other.projectId })
    await forge(`live.${organizationId}`, { topic: 'devices', organizationId })
    await until('a later notice arrives', () => stream.changes.some(({ topic }) => topic === 'devices'))
    expect(stream.changes).toEqual([{ topic: 'devices', organizationId }])
    expect(logOfB.named('messages from other nodes were ignored')).toMatchObject([
      {
        level: 'warn',
        subject: `live.${organizationId}`,
        problem: expect.stringContaining('expected one of'),
      },
    ])
  })
})

describe('while the bus is away', () => {
  it('nothing is refused, polls find what ended, and it heals by itself', { timeout: 60_000 }, async () => {
    const { owner, projectId, token } = await a.fleet()
    await using device = await connectDevice({ url: b.url, token })
    await using stream = await liveStream(b, owner)
    wire.hold()
    // The heartbeats and the pings of the bus to its server run every few seconds.
    await until('it is reported', async () => {
      await vi.advanceTimersByTimeAsync(5_000)
      return (await b.readiness.state()).status === 'degraded'
    })
    expect(await b.readiness.state()).toEqual({
      status: 'degraded',
      reason: 'the bus between nodes is away (PostgreSQL); changes made on other nodes arrive by polling',
    })
    await until('the other node is ready', async () => (await a.readiness.state()).status === 'ready')
    const admin = await a.user({ isAdmin: true })
    await until('the dashboard says so', async () => {
      const { problems } = await admin.invoke('instance_GetHealth', {})
      return problems.some(problem => problem.kind === 'BusAway' && problem.nodeName === 'b')
    })
    await b.withToken(await b.userToken(owner))('projects_SetName', { projectId, name: 'Renamed' })
    await using _other = await connectDevice({ url: b.url, token })
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
    const { certificateId } = certificates[0]!
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
    await until('a poll has found it', async () => {
      await vi.advanceTimersByTimeAsync(5_000)
      return !device.link.isOpen
    })
    expect(await device.link.ended).toEqual({ kind: 'PeerClose', reason: REASON })
    wire.release()
    await until('it is back', async () => {
      await vi.advanceTimersByTimeAsync(5_000)
      return (await b.readiness.state()).status === 'ready'
    })
    // The hub ends the stream, because it may have missed changes. The console then opens a new stream and reloads its data.
    await stream.ended
  })
})
