import { type ActionName, newDatedId, newId } from '@muster/actions'
import { type Frame, MAGIC } from '@muster/link'
import {
  capturedLog,
  connectDevice,
  databaseSession,
  deviceHeaders,
  deviceIdentity,
  type FakeDevice,
  liveStream,
  rawDevice,
  secondNode,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { SYSTEM } from '../../platform/pipeline/caller.ts'

const hub = await testHub()
afterAll(() => hub[Symbol.asyncDispose]())

async function connectionsOf(owner: TestUser, deviceId: string) {
  return (await owner.invoke('devices_QueryConnections', { deviceId })).connections
}

async function endReasonsOf(owner: TestUser, deviceId: string) {
  return (await connectionsOf(owner, deviceId)).map(({ endReason }) => endReason)
}

async function isShownConnected(owner: TestUser, deviceId: string): Promise<boolean> {
  return (await owner.invoke('devices_GetDetails', { deviceId })).isConnected
}

it('names the time within which the devices of the node can return after a crash', async () => {
  const { token } = await hub.fleet()
  const heard: number[] = []
  const onReturnBound = (returnMs: number): void => void heard.push(returnMs)
  await using _first = await connectDevice({ url: hub.url, token, link: { onReturnBound } })
  const connectedCount = vi.spyOn(hub.services.devices, 'connectedCount', 'get')
  try {
    for (const count of [1001, 1_000_000]) {
      connectedCount.mockReturnValue(count)
      await using _other = await connectDevice({ url: hub.url, token, link: { onReturnBound } })
    }
  } finally {
    connectedCount.mockRestore()
  }
  expect(heard).toEqual([1000, 3000, 60_000])
})

describe('connections of one device', () => {
  it('may be one registered and several unregistered ones, which are not shown', async () => {
    const { owner, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId, identity } = device
    const others = await Promise.all(
      ['false', 'TRUE', '1', undefined].map(register =>
        connectDevice({ url: hub.url, token, identity, headers: { 'x-register-connection': register } }),
      ),
    )
    for (const other of others) {
      expect(other.deviceId).toBe(deviceId)
      expect(await other.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1 })).toEqual({
        result: 'Set',
      })
    }
    const { connections, isConnected } = await owner.invoke('devices_GetDetails', { deviceId })
    expect(isConnected).toBe(true)
    expect(connections).toMatchObject([
      { nodeId: hub.nodeId, connectionId: expect.stringMatching(/^d_conn_/) },
    ])
    await Promise.all(others.map(other => other[Symbol.asyncDispose]()))
    expect(device.link.isOpen).toBe(true)
    expect(await isShownConnected(owner, deviceId)).toBe(true)
    expect(await connectionsOf(owner, deviceId)).toHaveLength(1)
  })

  it('leave the device offline when none is registered', async () => {
    const { owner, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token, register: false })
    const details = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
    expect(details).toMatchObject({ isConnected: false, connections: [] })
    expect(details).not.toHaveProperty('lastConnectedAt')
  })

  it('are replaced by the newest registered one; the older gets a Close frame', async () => {
    const { owner, token } = await hub.fleet()
    await using older = await connectDevice({ url: hub.url, token })
    const { deviceId, identity } = older
    const { connections: before } = await owner.invoke('devices_GetDetails', { deviceId })
    await using newer = await connectDevice({ url: hub.url, token, identity })
    expect(await older.link.ended).toEqual({
      kind: 'PeerClose',
      reason: 'replaced by a newer connection of this device',
    })
    const history = await until('the older one ended', async () => {
      const all = await connectionsOf(owner, deviceId)
      return all.some(({ endReason }) => endReason === 'Disconnected') && all
    })
    expect(history).toHaveLength(2)
    expect(history[1]).toMatchObject({ connectionId: before[0]!.connectionId, endReason: 'Disconnected' })
    const { isConnected, connections } = await owner.invoke('devices_GetDetails', { deviceId })
    expect(isConnected).toBe(true)
    expect(connections.map(({ connectionId }) => connectionId)).toEqual([history[0]!.connectionId])
    expect(newer.link.isOpen).toBe(true)
    expect(hub.devices.get(deviceId)).toBeDefined()
  })

  it('that arrive at the same time leave only one open', async () => {
    const { owner, token } = await hub.fleet()
    await using first = await connectDevice({ url: hub.url, token })
    const { deviceId, identity } = first
    const devices = await Promise.allSettled(
      Array.from({ length: 6 }, () => connectDevice({ url: hub.url, token, identity })),
    )
    const links = devices.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
    await until('all but one ended', async () => {
      const { connections } = await owner.invoke('devices_GetDetails', { deviceId })
      return connections.length === 1 && links.filter(({ link }) => link.isOpen).length === 1
    })
    expect(await isShownConnected(owner, deviceId)).toBe(true)
    expect(await connectionsOf(owner, deviceId)).toHaveLength(7)
    await Promise.all(links.map(device => device[Symbol.asyncDispose]()))
  })
})

describe('the presence of a device', () => {
  it('ends as Disconnected when the device disconnects, and consoles are notified', async () => {
    const { owner, token, organizationId, projectId } = await hub.fleet()
    await using stream = await liveStream(hub, owner)
    const { changes } = stream
    const device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    await until('the connect is notified', () => changes.some(({ topic }) => topic === 'connections'))
    expect(changes).toContainEqual({ topic: 'devices', organizationId, projectId, deviceId })
    changes.length = 0
    await device[Symbol.asyncDispose]()
    await until('the device is offline', async () => !(await isShownConnected(owner, deviceId)))
    await until('the disconnect is notified', () => changes.some(({ topic }) => topic === 'connections'))
    const [connection] = await connectionsOf(owner, deviceId)
    expect(connection).toMatchObject({
      endReason: 'Disconnected',
      nodeId: hub.nodeId,
      endedAt: expect.any(String),
    })
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect(devices).toMatchObject([{ isConnected: false, lastConnectedAt: connection!.connectedAt }])
  })

  it('ends as Disconnected when the device sends Close', async () => {
    const { owner, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    device.link.close('bye')
    await until('it ended', async () => (await endReasonsOf(owner, device.deviceId))[0] === 'Disconnected')
  })

  it('follows the newest connection of a device that is connected to two nodes', async () => {
    const { owner, token } = await hub.fleet()
    const captured = capturedLog()
    const second = await secondNode(hub, {}, captured.log)
    await using here = await connectDevice({ url: hub.url, token })
    const { deviceId, identity } = here
    await using there = await connectDevice({ url: second.url, token, identity })
    await here[Symbol.asyncDispose]()
    await until('the first ended', async () => (await endReasonsOf(owner, deviceId)).includes('Disconnected'))
    expect(await isShownConnected(owner, deviceId)).toBe(true)
    const { connections } = await owner.invoke('devices_GetDetails', { deviceId })
    expect(connections).toMatchObject([{ nodeId: second.nodeId, nodeName: 'second' }])
    await second[Symbol.asyncDispose]()
    expect(await there.link.ended).toEqual({ kind: 'PeerClose', reason: 'the hub is shutting down' })
    expect(await isShownConnected(owner, deviceId)).toBe(false)
  })

  it('stays with the open connection when a newer one broke before it was recorded', async () => {
    const { owner, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId, identity } = device
    await using session = await databaseSession(hub)
    await session.lock('device_connection')
    const broken = await rawDevice({ url: hub.url, token, identity })
    await session.waitingStatements(1)
    broken.send({ type: 'Ping' })
    await broken.closed
    await session.release()
    await until('the broken one is recorded', async () =>
      (await endReasonsOf(owner, deviceId)).includes('Disconnected'),
    )
    expect(device.link.isOpen).toBe(true)
    expect(await isShownConnected(owner, deviceId)).toBe(true)
    await device[Symbol.asyncDispose]()
    await until('the device is offline', async () => !(await isShownConnected(owner, deviceId)))
  })

  it('stays open while the end of a newer one, which broke at this node, is not recorded yet', async () => {
    const { owner, token } = await hub.fleet()
    await using _other = await secondNode(hub)
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    await hub.pool.query(
      `with newer as (
         insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, remote_address)
         select $2, device_id, node_id, token_id, certificate_id, remote_address
           from device_connection where device_id = $1
         returning connection_id
       ) update device set connection_id = (select connection_id from newer) where device_id = $1`,
      [deviceId, newId('d_conn')],
    )
    const queries = vi.spyOn(hub.pool, 'query')
    const looks = () =>
      queries.mock.calls.filter(([query]) => (query as { name?: string }).name === 'gateway-ended-rights')
        .length
    try {
      await until('the node has looked for ended rights', () => looks() > 0)
      expect(await device.invoke('actor_GetActor', {})).toMatchObject({ actor: { deviceId } })
      expect(await isShownConnected(owner, deviceId)).toBe(true)
    } finally {
      vi.restoreAllMocks()
    }
  })

  it('moves within seconds to a newer connection at another node', async () => {
    const { owner, token } = await hub.fleet()
    await using second = await secondNode(hub)
    await using older = await connectDevice({ url: hub.url, token })
    const { deviceId, identity } = older
    await using newer = await connectDevice({ url: second.url, token, identity })
    const reason = 'replaced by a newer connection of this device'
    expect(await older.link.ended).toEqual({ kind: 'PeerClose', reason })
    expect(newer.link.isOpen).toBe(true)
    expect(await isShownConnected(owner, deviceId)).toBe(true)
  })

  it('ends when its certificate was revoked at a node that has shut down since', async () => {
    const { owner, token } = await hub.fleet()
    const second = await secondNode(hub)
    await using device = await connectDevice({ url: hub.url, token })
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
    await second.pipeline.run(SYSTEM, 'devices_SetCertificateStatus', {
      certificateId: certificates[0]!.certificateId,
      status: 'Revoked',
    })
    await second[Symbol.asyncDispose]()
    expect(await device.link.ended).toMatchObject({ reason: 'certificate or token is no longer valid' })
  })

  it('ends within seconds after a revocation or deletion at another node', async () => {
    const { owner, projectId, token } = await hub.fleet()
    await using second = await secondNode(hub)
    const revoked = await connectDevice({ url: second.url, token })
    const deleted = await connectDevice({ url: second.url, token })
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId: revoked.deviceId })
    const { certificateId } = certificates[0]!
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
    const reason = 'certificate or token is no longer valid'
    expect(await revoked.link.ended).toEqual({ kind: 'PeerClose', reason })
    expect(deleted.link.isOpen).toBe(true)
    await owner.invoke('projects_Delete', { projectId })
    expect(await deleted.link.ended).toEqual({ kind: 'PeerClose', reason })
  })

  it('ends as ServerShutdown when the hub stops, with all rows written before it exits', async () => {
    const { owner, token } = await hub.fleet()
    const captured = capturedLog()
    const second = await secondNode(hub, {}, captured.log)
    const devices = await Promise.all(
      Array.from({ length: 40 }, () => connectDevice({ url: second.url, token })),
    )
    await second[Symbol.asyncDispose]()
    for (const device of devices) {
      expect(await device.link.ended).toEqual({ kind: 'PeerClose', reason: 'the hub is shutting down' })
      expect(await endReasonsOf(owner, device.deviceId)).toEqual(['ServerShutdown'])
      expect(await isShownConnected(owner, device.deviceId)).toBe(false)
    }
    // A busy machine may be slow with a statement.
    const lines = captured.lines.filter(({ msg }) => msg !== 'slow statement')
    expect(lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([])
  })

  it('I5: allows a device 32 pending channel requests before admission, besides the 16 channels of the hub', async () => {
    const { owner, projectId, token } = await hub.fleet()
    await using session = await databaseSession(hub)
    await session.lock('device_connection')
    await using device = await rawDevice({ url: hub.url, token })
    const credit = { frameCredit: 128, byteCredit: 16_384 }
    const request = (senderId: number): Frame => ({
      type: 'ChannelRequest',
      senderId,
      ...credit,
      endpoint: Buffer.from('executor'),
    })
    device.send({ type: 'Hello', magic: MAGIC, info: new Uint8Array() })
    device.send(...Array.from({ length: 33 }, (_, index) => request(index + 1)))
    const rejected = await until('one of them is rejected', () =>
      device.received.find(frame => frame.type === 'ChannelReject'),
    )
    expect(rejected.receiverId).toBe(33)
    await session.release()
    const typesOf = (type: Frame['type']) => device.received.filter(frame => frame.type === type)
    await until('the others are served', () => typesOf('ChannelAccept').length === 32)
    // The test opens 20 channels. The device answers none of the requests, so the hub sends only 16 of them.
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    const connection = hub.devices.get(devices[0]!.deviceId)!
    for (let n = 0; n < 20; n++) connection.open('forward/tcp/80').catch(() => {})
    await until('the hub has sent its requests', () => typesOf('ChannelRequest').length === 16)
    expect(typesOf('ChannelReject')).toHaveLength(1)
  })

  it('cannot begin at a hub that is shutting down, which answers new connections with 503', async () => {
    const { token } = await hub.fleet()
    const captured = capturedLog()
    const second = await secondNode(hub, {}, captured.log)
    await using _device = await connectDevice({ url: second.url, token })
    await using session = await databaseSession(hub)
    await session.lock('device_connection')
    const stopped = second[Symbol.asyncDispose]()
    await session.waitingStatements(1)
    await expect(connectDevice({ url: second.url, token })).rejects.toMatchObject({
      status: 503,
      body: '{"kind":"Internal","message":"the hub is shutting down"}',
    })
    await session.release()
    await stopped
  })
})

describe('a node taken for dead', () => {
  it('has its connections ended as NodeCrashed and its pending actions as Panicked; live nodes keep theirs', async () => {
    // A node that has just joined evicts no other one for four heartbeats.
    const heartbeatMs = 250
    await using hub = await testHub({ heartbeatMs })
    const { owner, token, organizationId, projectId } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    const gone = await connectDevice({ url: hub.url, token, register: true })
    await gone[Symbol.asyncDispose]()
    await until('it is offline', async () => !(await isShownConnected(owner, gone.deviceId)))

    // Rows of three nodes: one was killed a minute ago, one left the cluster with an action in flight, and one is alive.
    const dead = newId('cluster_node')
    const left = newId('cluster_node')
    const alive = newId('cluster_node')
    const minuteAgo = new Date(Date.now() - 60_000)
    const connectionId = newId('d_conn')
    const lateId = newId('d_conn')
    const rows = { token_id: 'deployment_id_x', certificate_id: 'd_c_x' }
    const actions = [dead, left, alive, hub.nodeId].map(node_id => ({
      action_id: newDatedId('audit_act'),
      action: 'projects_SetName' satisfies ActionName,
      actor: '{"actor":"System"}',
      data: '{}',
      status: 'Pending',
      node_id,
      request_id: 'test',
    }))
    // The rows are inserted in one transaction. The hub evicts a dead node only once, at one of its heartbeats, and a heartbeat between
    // two inserts would miss the later rows.
    await hub.db.transaction().execute(async tx => {
      await tx
        .insertInto('cluster_node')
        .values([
          { node_id: dead, name: 'dead', last_heartbeat: minuteAgo },
          { node_id: left, name: 'left', last_heartbeat: minuteAgo, left_at: minuteAgo },
          { node_id: alive, name: 'alive', last_heartbeat: new Date(Date.now() + 3_600_000) },
        ])
        .execute()
      await tx
        .insertInto('device_connection')
        .values([
          {
            connection_id: connectionId,
            device_id: gone.deviceId,
            node_id: dead,
            connected_at: new Date(minuteAgo.getTime() - 540_000),
            ...rows,
          },
          { connection_id: lateId, device_id: gone.deviceId, node_id: dead, ...rows },
          { connection_id: newId('d_conn'), device_id: gone.deviceId, node_id: alive, ...rows },
        ])
        .execute()
      await tx
        .updateTable('device')
        .set({ is_connected: true, connection_id: connectionId })
        .where('device_id', '=', gone.deviceId)
        .execute()
      await tx.insertInto('audit_action').values(actions).execute()
    })

    await using _second = await secondNode(hub, { heartbeatMs })
    await until('the dead node is evicted', async () => !(await isShownConnected(owner, gone.deviceId)))
    const reasons = await endReasonsOf(owner, gone.deviceId)
    expect(reasons.toSorted()).toEqual(['Disconnected', 'NodeCrashed', 'NodeCrashed', undefined])
    // A connection of a dead node ends at the node's last heartbeat, not at the time of its eviction. `lateId` began after that
    // heartbeat, so it ends at the time at which it began.
    const ended = new Map((await connectionsOf(owner, gone.deviceId)).map(one => [one.connectionId, one]))
    expect(ended.get(connectionId)).toMatchObject({ endedAt: minuteAgo.toISOString(), durationSecs: 540 })
    expect(ended.get(lateId)).toMatchObject({ endedAt: ended.get(lateId)!.connectedAt, durationSecs: 0 })
    expect(await isShownConnected(owner, deviceId)).toBe(true)
    expect(await endReasonsOf(owner, deviceId)).toEqual([undefined])
    const statuses = await hub.db
      .selectFrom('audit_action')
      .where('request_id', '=', 'test')
      .select(['node_id', 'status'])
      .execute()
    expect(Object.fromEntries(statuses.map(({ node_id, status }) => [node_id, status]))).toEqual({
      [dead]: 'Panicked',
      [left]: 'Panicked',
      [alive]: 'Pending',
      [hub.nodeId]: 'Pending',
    })
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect([devices.length, organizationId.length]).toEqual([2, 26])
  })

  it('closes its connections when it is still alive, so that devices reconnect', async () => {
    const { owner, token } = await hub.fleet()
    const captured = capturedLog()
    await using second = await secondNode(hub, {}, captured.log)
    const device = await connectDevice({ url: second.url, token })
    await hub.db
      .updateTable('cluster_node')
      .set({ left_at: new Date() })
      .where('node_id', '=', second.nodeId)
      .execute()
    expect(await device.link.ended).toEqual({
      kind: 'PeerClose',
      reason: 'the hub node was out of reach for too long',
    })
    expect(captured.named('this node was taken for dead; its connections start again')).toHaveLength(1)
    await using again = await connectDevice({ url: second.url, token, identity: device.identity })
    expect(await isShownConnected(owner, again.deviceId)).toBe(true)
  })
})

describe('a short database outage', () => {
  it('refuses no device that connects meanwhile', async () => {
    const { token } = await hub.fleet()
    await using session = await databaseSession(hub)
    await session.lock('deployment_token')
    const connecting = connectDevice({ url: hub.url, token })
    await session.waitingStatements(1)
    await session.terminateOthers()
    await session.release()
    await using device = await connecting
    expect(device.link.isOpen).toBe(true)
  })

  it('refuses no one-shot command whose rights are being checked', async () => {
    const { token } = await hub.fleet()
    const query = hub.pool.query.bind(hub.pool)
    let lost = 0
    vi.spyOn(hub.pool, 'query').mockImplementation((async (
      statement: { name?: string },
      values: unknown[],
    ) => {
      if (statement.name === 'presence-may-connect' && ++lost === 1)
        throw Object.assign(new Error('terminating connection'), { code: '57P01' })
      return query(statement as never, values)
    }) as never)
    try {
      await using command = await connectDevice({ url: hub.url, token, register: false })
      expect([command.link.isOpen, lost]).toEqual([true, 2])
    } finally {
      vi.restoreAllMocks()
    }
  })

  it('admits no device that disconnected while it waited', async () => {
    const { token } = await hub.fleet()
    await using session = await databaseSession(hub)
    await session.lock('deployment_token')
    const webSocket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/v1/connect/ws`, {
      headers: deviceHeaders({ url: hub.url, token }, await deviceIdentity()),
    })
    webSocket.on('error', () => {})
    await session.waitingStatements(1)
    webSocket.terminate()
    await session.terminateOthers()
    await session.release()
    const before = hub.devices.sessions.length
    await using next = await connectDevice({ url: hub.url, token })
    expect([next.link.isOpen, hub.devices.sessions.length]).toEqual([true, before + 1])
  })
})

describe('a right that ends', () => {
  type Ending = (of: {
    owner: TestUser
    projectId: string
    organizationId: string
    tokenId: string
    certificateId: string
    deviceId: string
  }) => Promise<unknown>
  const endings: [string, string, Ending][] = [
    [
      'a revoked certificate',
      'the certificate was revoked',
      ({ owner, certificateId }) =>
        owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' }),
    ],
    [
      'a deleted certificate',
      'the certificate was deleted',
      ({ owner, certificateId }) => owner.invoke('devices_DeleteCertificate', { certificateId }),
    ],
    [
      'a deleted token',
      'the deployment token was deleted',
      ({ owner, tokenId }) => owner.invoke('projects_DeleteDeploymentToken', { tokenId }),
    ],
    [
      'a deleted device',
      'this device was deleted',
      ({ owner, deviceId }) => owner.invoke('devices_Delete', { deviceId }),
    ],
    [
      'a deleted project',
      'the project of this device was deleted',
      ({ owner, projectId }) => owner.invoke('projects_Delete', { projectId }),
    ],
    [
      'a deleted organization',
      'deleted',
      ({ owner, organizationId }) => owner.invoke('organizations_Delete', { organizationId }),
    ],
  ]

  async function connected(): Promise<{
    ids: Parameters<Ending>[0]
    device: FakeDevice
    oneShot: FakeDevice
    other: FakeDevice
  }> {
    const { owner, projectId, organizationId, token, tokenId } = await hub.fleet()
    const bystander = await hub.fleet()
    const device = await connectDevice({ url: hub.url, token })
    const { deviceId, identity } = device
    const oneShot = await connectDevice({ url: hub.url, token, identity, register: false })
    const other = await connectDevice({ url: hub.url, token: bystander.token })
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
    const { certificateId } = certificates[0]!
    return {
      ids: { owner, projectId, organizationId, tokenId, certificateId, deviceId },
      device,
      oneShot,
      other,
    }
  }

  it.each(endings)('closes the connections of %s at once, and no others', async (_what, reason, end) => {
    const { ids, device, oneShot, other } = await connected()
    await end(ids)
    for (const { link } of [device, oneShot])
      expect(await link.ended).toEqual({ kind: 'PeerClose', reason: expect.stringContaining(reason) })
    expect(hub.devices.get(ids.deviceId)).toBeUndefined()
    expect(other.link.isOpen).toBe(true)
    await other[Symbol.asyncDispose]()
    await expect(
      device.invoke('devices_SetProperty', { deviceId: ids.deviceId, name: 'a', value: 1 }),
    ).rejects.toThrow()
  })

  it('closes no connection that uses another certificate', async () => {
    const { ids, device, oneShot, other } = await connected()
    const { owner, deviceId } = ids
    const identity = { ...(await deviceIdentity()), fingerprint: device.identity.fingerprint }
    const { token } = await hub.token(owner, ids.projectId)
    await expect(connectDevice({ url: hub.url, token, identity })).rejects.toMatchObject({ status: 403 })
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
    const { certificateId } = certificates.find(({ status }) => status === 'Pending')!
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Rejected' })
    await owner.invoke('devices_DeleteCertificate', { certificateId })
    expect([device.link.isOpen, oneShot.link.isOpen]).toEqual([true, true])
    await Promise.all([device, oneShot, other].map(one => one[Symbol.asyncDispose]()))
  })

  // In these tests the authentication succeeds, and then the right to connect ends before the hub records the connection.
  it.each(
    endings.flatMap(([what, , end]) => [
      { what, end, register: true },
      { what, end, register: false },
    ]),
  )(
    'after authentication and before registration refuses the connection: $what, registered $register',
    async ({ end, register }) => {
      const { owner, projectId, organizationId, token, tokenId } = await hub.fleet()
      const identity = await deviceIdentity()
      const first = await connectDevice({ url: hub.url, token, identity })
      await first[Symbol.asyncDispose]()
      const { deviceId } = first
      const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
      const { certificateId } = certificates[0]!
      await until('it is offline', async () => !(await isShownConnected(owner, deviceId)))

      const statement = register ? 'presence-open' : 'presence-may-connect'
      using _slow = beforeStatement(statement, () =>
        end({ owner, projectId, organizationId, tokenId, certificateId, deviceId }),
      )
      const device = await rawDevice({ url: hub.url, token, identity, register })
      await expect(device.openExecutor()).rejects.toThrow('the hub ended the connection')
      expect(device.received.map(({ type }) => type)).toEqual(['Hello', 'Close'])
      const open = await hub.db
        .selectFrom('device_connection')
        .where('device_id', '=', deviceId)
        .where('ended_at', 'is', null)
        .select('connection_id')
        .execute()
      expect(open).toEqual([])
    },
  )

  /** Runs `work` just before the hub's next execution of the named statement, as if the database were slow. */
  function beforeStatement(name: string, work: () => Promise<unknown>): Disposable {
    const { pool } = hub
    const query = pool.query.bind(pool)
    let isDone = false
    const slow = async (statement: unknown, ...rest: unknown[]): Promise<unknown> => {
      if (!isDone && (statement as { name?: string }).name === name) {
        isDone = true
        await work()
      }
      return (query as (...all: unknown[]) => Promise<unknown>)(statement, ...rest)
    }
    pool.query = slow as typeof pool.query
    return {
      [Symbol.dispose]() {
        pool.query = query as typeof pool.query
        expect(isDone).toBe(true)
      },
    }
  }
})
