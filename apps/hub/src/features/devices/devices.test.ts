import { newDatedId, newId, publicIdOf } from '@muster/actions'
import {
  auditEvents,
  auditRows,
  clearAudit,
  connectDevice,
  databaseSession,
  deviceIdentity,
  deviceRow,
  failed,
  liveStream,
  randomFingerprint,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let organizationId: string
let projectId: string
let token: string
let deviceId: string

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, organizationId, projectId, token } = await hub.fleet())
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  deviceId = await deviceRow(hub, projectId)
  await clearAudit(hub)
})

describe('devices_Query', () => {
  it('lists the devices that the caller can see, with the duration of the connection', async () => {
    const otherUser = await hub.user()
    const admin = await hub.user({ isAdmin: true })
    await using device = await connectDevice({ url: hub.url, token })
    const { devices } = await owner.invoke('devices_Query', {})
    expect(devices).toContainEqual({ deviceId, projectId, isConnected: false })
    expect(devices).toContainEqual({
      deviceId: device.deviceId,
      projectId,
      isConnected: true,
      lastConnectedAt: expect.any(String),
      currentConnectionDurationSecs: expect.any(Number),
    })
    expect(await otherUser.invoke('devices_Query', {})).toEqual({ devices: [] })
    const all = await admin.invoke('devices_Query', {})
    expect(all.devices.map(one => one.deviceId)).toEqual(expect.arrayContaining([deviceId, device.deviceId]))
  })
})

describe('devices_GetDetails', () => {
  it('returns a device that never connected', async () => {
    expect(await owner.invoke('devices_GetDetails', { deviceId })).toEqual({
      deviceId,
      projectId,
      fingerprintId: `d_pk_${deviceId.slice(2)}`,
      firstSeen: expect.any(String),
      isConnected: false,
      certificates: [],
      connections: [],
      refusals: [],
      limitHits: [],
      unregisteredLinks: 0,
    })
  })

  it('returns certificates and the open connection with the name of its node', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const details = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
    expect(details).toMatchObject({
      fingerprintId: `d_pk_${device.identity.fingerprint.slice(5, 27)}`,
      isConnected: true,
      lastConnectedAt: details.connections[0]!.connectedAt,
    })
    expect(details.certificates).toEqual([
      {
        certificateId: expect.stringMatching(/^d_c_/),
        status: 'Active',
        fingerprint: expect.stringMatching(/^[0-9A-F]{2}(:[0-9A-F]{2}){31}$/),
        firstSeen: expect.any(String),
        expiresAt: '4096-01-01T00:00:00.000Z',
        isShared: false,
        tokenId: expect.stringMatching(/^deployment_id_/),
        tokenName: 'Test token',
        remoteAddress: '127.0.0.1',
      },
    ])
    expect(details.connections).toEqual([
      {
        connectionId: expect.stringMatching(/^d_conn_/),
        nodeId: hub.nodeId,
        nodeName: expect.any(String),
        connectedAt: expect.any(String),
        connectedForSecs: expect.any(Number),
      },
    ])
  })

  it('flags a certificate that two devices of a project share on both, but not across projects', async () => {
    const fingerprint = randomFingerprint()
    const other = await deviceRow(hub, projectId)
    const elsewhere = await deviceRow(hub, await hub.project(owner, organizationId))
    for (const id of [deviceId, other, elsewhere])
      await owner.invoke('devices_AddCertificate', { deviceId: id, fingerprint })
    const isShared = async (id: string) =>
      (await owner.invoke('devices_GetDetails', { deviceId: id })).certificates.map(
        certificate => certificate.isShared,
      )
    expect(await isShared(deviceId)).toEqual([true])
    expect(await isShared(other)).toEqual([true])
    expect(await isShared(elsewhere)).toEqual([false])
  })
})

describe('devices_GetPage', () => {
  const property = { name: 'wind', limit: 10 }
  const asked = {
    devices_GetDetails: [{}],
    devices_GetProperty: [{ name: 'wind' }, { name: 'none' }],
    devices_QueryProperties: [
      { limit: 1, maxValueBytes: 4 },
      { limit: 10, withActors: true },
    ],
    devices_QueryPropertyHistory: [property],
    devices_QueryEvents: [{ limit: 10 }],
    devices_QueryConnections: [{ limit: 10 }],
    projects_GetPins: [{}],
  }

  it('returns what the queries return one by one, each in its place', async () => {
    const set = (name: string, value: unknown) =>
      owner.invoke('devices_SetProperty', { deviceId, name, value })
    await set('wind', 'twelve metres')
    await set('zone', 7)
    await owner.invoke('projects_SetPins', { projectId, properties: ['wind'] })
    const together = await owner.invoke('devices_GetPage', { deviceId, ...asked })
    expect(together).toEqual({
      devices_GetDetails: [await owner.invoke('devices_GetDetails', { deviceId })],
      devices_GetProperty: [
        await owner.invoke('devices_GetProperty', { deviceId, name: 'wind' }),
        { result: 'NotFound' },
      ],
      devices_QueryProperties: [
        await owner.invoke('devices_QueryProperties', { deviceId, limit: 1, maxValueBytes: 4 }),
        await owner.invoke('devices_QueryProperties', { deviceId, limit: 10, withActors: true }),
      ],
      devices_QueryPropertyHistory: [
        await owner.invoke('devices_QueryPropertyHistory', { deviceId, ...property }),
      ],
      devices_QueryEvents: [{ events: [] }],
      devices_QueryConnections: [{ connections: [] }],
      projects_GetPins: [{ properties: ['wind'], projectProperties: [] }],
    })
    expect(together.devices_QueryProperties![0]).toMatchObject({ nextCursor: expect.any(String) })
    expect(await owner.invoke('devices_GetPage', { deviceId, devices_QueryEvents: [] })).toEqual({
      devices_QueryEvents: [],
    })
  })

  it('writes one row for an administrator of the instance, and fails whole if a part fails', async () => {
    const admin = await hub.user({ isAdmin: true })
    await admin.invoke('devices_GetPage', { deviceId, ...asked })
    expect(await auditRows(hub)).toMatchObject([{ action: 'devices_GetPage', data: { deviceId } }])
    const cursor = 'none'
    const broken = { ...asked, devices_QueryEvents: [{ limit: 10, cursor }] }
    expect(await failed(owner.invoke('devices_GetPage', { deviceId, ...broken }))).toMatchObject({
      kind: 'Invalid',
    })
  })

  it('refuses a device, lists without a limit, and more queries than it runs at once', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const own = device.invoke('devices_GetPage', { deviceId: device.deviceId, ...asked })
    await expect(own).rejects.toMatchObject({ kind: 'Forbidden' })
    for (const input of [
      { devices_QueryProperties: [{}] },
      { devices_QueryPropertyHistory: [{ name: 'wind' }] },
      { devices_GetProperty: Array.from({ length: 9 }, () => ({ name: 'wind' })) },
      { devices_GetDetails: [{}, {}] },
    ])
      expect(await failed(owner.invoke('devices_GetPage', { deviceId, ...input } as never))).toMatchObject({
        kind: 'Invalid',
        issues: [{ path: expect.stringContaining(Object.keys(input)[0]!) }],
      })
  })
})

describe('devices_SetName', () => {
  it('renames a device, and removes the name when none is given', async () => {
    await using console = await liveStream(hub, owner)
    const nameNow = async () => (await owner.invoke('devices_GetDetails', { deviceId })).name
    expect(await owner.invoke('devices_SetName', { deviceId, name: ' Gate 1 ' })).toEqual({})
    expect(await nameNow()).toBe('Gate 1')
    await until('the live notice', () =>
      console.changes.some(change => change.topic === 'devices' && change.deviceId === deviceId),
    )
    for (const name of ['', undefined, null, '  ']) {
      await owner.invoke('devices_SetName', { deviceId, name: 'Gate 1' })
      await owner.invoke('devices_SetName', { deviceId, name })
      expect(await nameNow(), JSON.stringify(name)).toBeUndefined()
    }
    const [first, , , second] = await auditRows(hub)
    expect(first).toMatchObject({
      action: 'devices_SetName',
      data: { deviceId, name: 'Gate 1' },
      status: 'Succeeded',
    })
    expect(second?.data).toEqual({ deviceId, name: 'Gate 1' })
    const events = await auditEvents(hub)
    expect(events[0]).toMatchObject({
      event: 'devices_NameChanged',
      data: { projectId, deviceId, name: 'Gate 1' },
      organizationId,
      projectId,
      deviceId,
    })
    expect(events[2]?.data).toEqual({ projectId, deviceId })
  })
})

describe('devices_Block', () => {
  const BLOCKED = { status: 403, body: expect.stringContaining('this device is blocked in its project') }

  it('D11: refuses the fingerprint and the certificate of a deleted device in its project, until it is unblocked', async () => {
    const { owner, organizationId, projectId, token } = await hub.fleet()
    const device = await connectDevice({ url: hub.url, token })
    const { deviceId, identity } = device
    const connect = (as = identity, by = token) => connectDevice({ url: hub.url, token: by, identity: as })
    const { fingerprint } = (await owner.invoke('devices_GetDetails', { deviceId })).certificates[0]!
    const { blockId, ...counts } = await owner.invoke('devices_Block', { deviceId })
    expect(counts).toEqual({ certificateCount: 1, sharedCertificateCount: 0 })
    expect((await device.link.ended).reason).toBe('this device was deleted')

    const { fingerprint: otherFingerprint, ...otherPair } = await deviceIdentity()
    await expect(connect()).rejects.toMatchObject(BLOCKED)
    await expect(connect({ ...identity, ...otherPair })).rejects.toMatchObject(BLOCKED)
    await expect(connect({ ...identity, fingerprint: otherFingerprint })).rejects.toMatchObject(BLOCKED)
    const message = expect.stringContaining('is blocked in the project')
    expect(
      await failed(owner.invoke('devices_Create', { projectId, fingerprint: identity.fingerprint as never })),
    ).toMatchObject({ status: 409, message })
    const neighbour = await deviceRow(hub, projectId)
    expect(
      await failed(owner.invoke('devices_AddCertificate', { deviceId: neighbour, fingerprint })),
    ).toMatchObject({ status: 409, message })
    expect((await owner.invoke('projects_QueryDevices', { projectId })).devices).toHaveLength(1)

    // The device is admitted by other projects, and its certificate is nobody else's matter.
    const elsewhere = await hub.project(owner, organizationId)
    const { token: theirs } = await hub.token(owner, elsewhere)
    await using there = await connect(identity, theirs)
    expect(there.deviceId).not.toBe(deviceId)

    const { blocks } = await owner.invoke('projects_QueryBlockedDevices', { projectId })
    expect(blocks).toMatchObject([
      { blockId, deviceId, certificateCount: 1, actor: { actor: 'User', userId: owner.userId } },
    ])
    const unblocked = failed(owner.invoke('projects_UnblockDevice', { projectId: elsewhere, blockId }))
    expect(await unblocked).toMatchObject({ kind: 'Forbidden' })
    await owner.invoke('projects_UnblockDevice', { projectId, blockId })
    await using back = await connect()
    expect(back.deviceId).not.toBe(deviceId)
    const data = { projectId, deviceId, blockId }
    expect(await auditEvents(hub, 'devices_Blocked')).toMatchObject([{ data, projectId, organizationId }])
    expect(await auditEvents(hub, 'projects_DeviceUnblocked')).toMatchObject([{ data }])
    expect(await auditEvents(hub, 'devices_Deleted')).toMatchObject([{ data: { deviceId } }])
  })

  it('D11: blocks only the fingerprint where another device has the certificate', async () => {
    const { owner, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const { fingerprint } = await deviceIdentity()
    const identity = { ...device.identity, fingerprint }
    await using sharing = await connectDevice({ url: hub.url, token, identity })
    expect(await owner.invoke('devices_Block', { deviceId: device.deviceId })).toMatchObject({
      certificateCount: 0,
      sharedCertificateCount: 1,
    })
    const again = connectDevice({ url: hub.url, token, identity: device.identity })
    await expect(again).rejects.toMatchObject(BLOCKED)
    await using other = await connectDevice({ url: hub.url, token, identity })
    expect(other.deviceId).toBe(sharing.deviceId)
  })

  it('D11: admits no connection of the device that came before the block was stored', async () => {
    const { owner, projectId, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId, identity } = device
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query('select from device where device_id = $1 for key share', [deviceId])
    const blocked = owner.invoke('devices_Block', { deviceId })
    await session.waitingStatements(1)
    // A certificate that is new makes the hub enrol the device, which waits for the block.
    const { certificatePem } = await deviceIdentity()
    const again = connectDevice({ url: hub.url, token, identity: { ...identity, certificatePem } }).catch(
      (error: unknown) => error,
    )
    await session.waitingStatements(2)
    await session.query('commit')
    await blocked
    expect(await again).toMatchObject(BLOCKED)
    expect((await owner.invoke('projects_QueryDevices', { projectId })).devices).toEqual([])
  })
})

describe('devices_Delete', () => {
  it('deletes in the session of the click, and in no other session of that person or of another person', async () => {
    const id = await deviceRow(hub, projectId)
    const { sessionId } = await owner.invoke('actor_GetActor', {})
    const { userId } = owner
    const other = await hub.user()
    const askers = [
      [
        'Another person asked',
        { userId: other.userId, sessionId: (await other.invoke('actor_GetActor', {})).sessionId! },
      ],
      ['in another session', { userId, sessionId: publicIdOf(newId('u_session_sk')) as never }],
    ] as const
    for (const [message, askedBy] of askers) {
      const refusal = await failed(owner.invoke('devices_Delete', { deviceId: id, askedBy }))
      expect(refusal).toMatchObject({ kind: 'Forbidden', message: expect.stringContaining(message) })
    }
    expect(await owner.invoke('devices_GetDetails', { deviceId: id })).toMatchObject({ deviceId: id })
    expect(
      await owner.invoke('devices_Delete', { deviceId: id, askedBy: { userId, sessionId: sessionId! } }),
    ).toEqual({})
  })

  it('removes a device with its history, closes its connections, and keeps other devices', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const { identity } = device
    await using oneShot = await connectDevice({ url: hub.url, token, identity, register: false })
    await using neighbour = await connectDevice({ url: hub.url, token })
    for (const one of [device, neighbour]) {
      const event = {
        eventId: 'd_ev_20261121-1203-17czX8X1',
        severity: 'Info',
        body: 1,
        attributes: {},
        emittedAt: '2026-11-21T12:03:04Z',
      }
      await one.invoke('devices_SetProperty', { deviceId: one.deviceId, name: 'a', value: 1 })
      const status = { name: 'dev.nexigon.ota.status', value: { state: 'completed' } }
      await one.invoke('devices_SetProperty', { deviceId: one.deviceId, ...status })
      const info = { name: 'dev.nexigon.system.info', value: { networks: [{ ipAddresses: ['10.0.0.7/8'] }] } }
      await one.invoke('devices_SetProperty', { deviceId: one.deviceId, ...info })
      await one.invoke('devices_PublishEvents', { deviceId: one.deviceId, events: [event] })
      await owner.invoke('devices_SetLabels', { deviceId: one.deviceId, set: { site: 'pier4' } })
      const hostname = `${one.deviceId.slice(2).toLowerCase()}.localhost`
      await owner.invoke('devices_IssueHttpProxyToken', { deviceId: one.deviceId, hostname })
      const { certificates } = await owner.invoke('devices_GetDetails', { deviceId: one.deviceId })
      const extra = await owner.invoke('devices_AddCertificate', {
        deviceId: one.deviceId,
        fingerprint: randomFingerprint(),
        status: 'Rejected',
      })
      await owner.invoke('devices_DeleteCertificate', extra)
      expect(certificates).toHaveLength(1)
      const { certificatePem } = await deviceIdentity()
      const refused = connectDevice({ url: hub.url, token, identity: { ...one.identity, certificatePem } })
      await expect(refused).rejects.toThrow('403')
      await until('the refusal is recorded', async () => {
        const { refusals } = await owner.invoke('devices_GetDetails', { deviceId: one.deviceId })
        return refusals.length === 1
      })
    }
    await hub.pool.query(
      `insert into device_shared_identity (device_id, takeovers, addresses, is_one_machine, first_at, last_at)
       select device_id, 3, '[]', false, now(), now() from device where device_id = any($1)`,
      [[device.deviceId, neighbour.deviceId]],
    )
    await hub.services.storedBytes.flush()
    await using console = await liveStream(hub, owner)

    expect(await owner.invoke('devices_Delete', { deviceId: device.deviceId })).toEqual({})

    expect((await device.link.ended).reason).toBe('this device was deleted')
    expect((await oneShot.link.ended).reason).toBe('this device was deleted')
    expect(neighbour.link.isOpen).toBe(true)
    await hub.runJob('devices_SweepHistory', {})
    // The rows of the device must be removed from every table with a `device_id`. Exempt are tables that record deletions:
    // `device_removal`, `bulk_action_item` with the results of bulk actions, `device_block`, and
    // `device_operation`, which says that it was cancelled by the deletion.
    const { rows: tables } = await hub.pool.query<{ table: string }>(`
      select table_name as table from information_schema.columns
       where table_schema = 'public' and column_name = 'device_id' and table_name not like 'audit_%'
         and table_name !~ '_(\\d{8}|default|wrong_clock)$' and table_name not in ('device_removal', 'bulk_action_item', 'device_block', 'device_operation')`)
    expect(tables.map(({ table }) => table).sort()).toEqual([
      'device',
      'device_address',
      'device_certificate',
      'device_certificate_change',
      'device_certificate_tombstone',
      'device_connection',
      'device_event',
      'device_label',
      'device_property',
      'device_property_change',
      'device_refusals',
      'device_shared_identity',
      'device_stored_bytes',
      'device_update',
      'proxy_host',
      'proxy_token',
    ])
    for (const { table } of tables) {
      const { rows } = await hub.pool.query<{ device_id: string }>(`select device_id from ${table}`)
      const ids = rows.map(row => row.device_id)
      expect(ids, table).not.toContain(device.deviceId)
      expect(ids, table).toContain(neighbour.deviceId)
    }
    expect(await auditRows(hub, 'devices_Delete')).toMatchObject([
      { data: { deviceId: device.deviceId }, status: 'Succeeded' },
    ])
    expect(await auditEvents(hub, 'devices_Deleted')).toMatchObject([
      { data: { deviceId: device.deviceId, projectId }, organizationId, projectId },
    ])
    await until('the live notice', () =>
      console.changes.some(change => change.topic === 'devices' && change.deviceId === device.deviceId),
    )
  })

  it('removes events and properties that are stored during the deletion', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query('select from device where device_id = $1 for key share', [deviceId])
    const deleted = owner.invoke('devices_Delete', { deviceId })
    await session.waitingStatements(1)
    const event = { eventId: newDatedId('d_ev'), severity: 'Info', body: 1, attributes: {} } as const
    const emittedAt = new Date().toISOString()
    await device.invoke('devices_PublishEvents', { deviceId, events: [{ ...event, emittedAt }] })
    await device.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1 })
    await session.release()
    expect(await deleted).toEqual({})

    const left = (table: string) =>
      session.query(`select device_id from ${table} where device_id = $1`, [deviceId])
    await hub.runJob('devices_SweepHistory', {})
    expect(await left('device_event')).toEqual([])
    expect(await left('device_property_change')).toEqual([])
    // The row in `device_removal` stays for some minutes, because a statement that began before the deletion may still insert an event.
    expect(await left('device_removal')).toEqual([{ device_id: deviceId }])
    await session.query(
      `insert into device_event (device_id, event_id, event_day, severity, body, attributes, emitted_at)
       values ($1, 'late', current_date, 'Info', '1', '{}', now())`,
      [deviceId],
    )
    await session.query(`update device_removal set removed_at = now() - interval '6 minutes'`)
    await hub.runJob('devices_SweepHistory', {})
    expect(await left('device_event')).toEqual([])
    expect(await left('device_removal')).toEqual([])
  })

  it('succeeds for one of several concurrent calls; the others find no device', async () => {
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query('select from device where device_id = $1 for update', [deviceId])
    const first = owner.invoke('devices_Delete', { deviceId })
    await session.waitingStatements(1)
    const late = Promise.allSettled([
      owner.invoke('devices_Delete', { deviceId }),
      owner.invoke('devices_SetName', { deviceId, name: 'ghost' }),
    ])
    await session.waitingStatements(3)
    await session.release()
    expect(await first).toEqual({})
    for (const { status, reason } of (await late) as PromiseRejectedResult[])
      expect({ status, reason }).toMatchObject({ status: 'rejected', reason: { kind: 'Forbidden' } })
    expect((await auditEvents(hub)).map(({ event }) => event)).toEqual(['devices_Deleted'])
  })

  it('lets the same machine reconnect as a new device', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const { identity, deviceId: before } = device
    await owner.invoke('devices_Delete', { deviceId: before })
    await device.link.ended
    await using again = await connectDevice({ url: hub.url, token, identity })
    expect(again.deviceId).not.toBe(before)
  })
})

describe('devices_QueryConnections', () => {
  it('lists connections newest first, with end reason and duration of ended ones', async () => {
    const first = await connectDevice({ url: hub.url, token })
    const { identity, deviceId: id } = first
    await first[Symbol.asyncDispose]()
    await until('the first connection is closed', async () => {
      const { connections } = await owner.invoke('devices_QueryConnections', {
        deviceId: id,
        activeOnly: true,
      })
      return connections.length === 0
    })
    await using _second = await connectDevice({ url: hub.url, token, identity })
    const { connections } = await owner.invoke('devices_QueryConnections', { deviceId: id })
    const common = {
      connectionId: expect.stringMatching(/^d_conn_/),
      nodeId: hub.nodeId,
      nodeName: expect.any(String),
      connectedAt: expect.any(String),
      durationSecs: expect.any(Number),
    }
    expect(connections).toEqual([
      common,
      { ...common, endedAt: expect.any(String), endReason: 'Disconnected' },
    ])
    const open = await owner.invoke('devices_QueryConnections', { deviceId: id, activeOnly: true })
    expect(open.connections).toEqual([connections[0]])
    const one = await owner.invoke('devices_QueryConnections', { deviceId: id, limit: 1 })
    expect(one.connections).toEqual([connections[0]])
  })

  it('returns the latest 100 connections by default and at most 1,000', async () => {
    await hub.pool.query(
      `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
       select 'd_conn_' || translate(lpad(i::text, 22, 'a'), '0', 'z'), $1, $2, 't', 'c', now() - i * interval '1 minute', now(), 'Disconnected'
         from generate_series(1, 120) i`,
      [deviceId, hub.nodeId],
    )
    const count = async (limit?: number) =>
      (await owner.invoke('devices_QueryConnections', { deviceId, limit })).connections.length
    expect(await count()).toBe(100)
    expect(await count(1000)).toBe(120)
    expect(await failed(owner.invoke('devices_QueryConnections', { deviceId, limit: 1001 }))).toMatchObject({
      kind: 'Invalid',
    })
    expect(await failed(owner.invoke('devices_QueryConnections', { deviceId, limit: 0 }))).toMatchObject({
      kind: 'Invalid',
    })
  })
})

describe('devices_GetConnectionHistory', () => {
  it('shows how long a device was connected that connected very often, and back to when', async () => {
    // Every 4 s a connection of 2 s, for 25 hours.
    await hub.pool.query(
      `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
       select $1 || i, $1, $2, 't', 'c', now() - i * interval '4 s', now() - i * interval '4 s' + interval '2 s', 'Disconnected'
         from generate_series(1, 22500) i`,
      [deviceId, hub.nodeId],
    )
    const read = (ticks: number, tickSecs: number) =>
      owner.invoke('devices_GetConnectionHistory', { deviceId, ticks, tickSecs })
    const hours = await read(12, 3600)
    expect(hours.ticks.map(share => share?.toFixed(1))).toEqual(new Array(12).fill('0.5'))
    expect(hours).toMatchObject({ interruptions: expect.closeTo(10_800, -1), recordedSecs: 43_200 })
    expect(hours.readBackTo).toBeUndefined()
    const day = await read(24, 3600)
    expect(day.ticks.slice(0, 2)).toEqual([null, expect.closeTo(0.5, 1)])
    expect((Date.parse(day.until) - Date.parse(day.readBackTo!)) / 1000).toBeCloseTo(80_000, -2)
  })

  it('counts a connection that began before the first tick, and has no share without one', async () => {
    const read = () => owner.invoke('devices_GetConnectionHistory', { deviceId, ticks: 2, tickSecs: 3600 })
    expect(await read()).toMatchObject({ ticks: [null, null], recordedSecs: 0 })
    await hub.pool.query(
      `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at)
       values ($1, $1, $2, 't', 'c', now() - interval '1 day')`,
      [deviceId, hub.nodeId],
    )
    expect(await read()).toMatchObject({ ticks: [1, 1], share: 1, recordedSecs: 7200, interruptions: 0 })
  })

  it('has the changes by people within the same time, if asked for them', async () => {
    const period = { deviceId, ticks: 24, tickSecs: 3600 }
    await owner.invoke('devices_SetName', { deviceId, name: 'Gate' })
    const { changes, ...history } = await owner.invoke('devices_GetConnectionHistory', {
      ...period,
      changes: 5,
    })
    const filter = { kinds: ['person' as const], withinSecs: 24 * 3600 }
    expect(changes).toEqual(await owner.invoke('devices_QueryTimeline', { deviceId, limit: 5, filter }))
    expect(changes!.entries).toMatchObject([{ kind: 'person' }])
    expect(history).toMatchObject({ recordedSecs: 0 })
    expect(await owner.invoke('devices_GetConnectionHistory', period)).not.toHaveProperty('changes')
  })

  it('says after 2 s that it was not read', async () => {
    await using session = await databaseSession(hub)
    await session.lock('device_connection')
    const found = await owner.invoke('devices_GetConnectionHistory', {
      deviceId,
      ticks: 2,
      tickSecs: 3600,
      changes: 5,
    })
    await session.release()
    expect(found).toMatchObject({ ticks: [null, null], tookTooLong: true })
    expect(found.share).toBeUndefined()
    expect(found.changes).toBeUndefined()
  })
})

describe('devices_ClaimOperationWork', () => {
  it('answers a device with an empty list, and refuses other callers', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const claim = { deviceId: device.deviceId, limit: 1, kinds: ['DeviceCommand'] }
    expect(await device.invoke('devices_ClaimOperationWork', claim)).toEqual({ work: [] })
    const other = device.invoke('devices_ClaimOperationWork', { ...claim, deviceId: newId('d') })
    await expect(other).rejects.toMatchObject({ kind: 'Forbidden' })
    expect(await failed(owner.invoke('devices_ClaimOperationWork', claim as never))).toMatchObject({
      kind: 'Forbidden',
    })
  })
})
