import { newId, publicIdOf } from '@muster/actions'
import {
  auditEvents,
  auditRows,
  clearAudit,
  connectDevice,
  databaseSession,
  deviceRow,
  failed,
  liveStream,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hashSecret } from '../../platform/credentials/secrets.ts'

let hub: TestHub
let owner: TestUser
let actor: object
let organizationId: string
let projectId: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  actor = { actor: 'User', userId: owner.userId }
  organizationId = await hub.organization(owner)
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  projectId = await hub.project(owner, organizationId, 'Harbour')
  await clearAudit(hub)
})

describe('projects_Create', () => {
  it('creates a project, also with the name of another one', async () => {
    await using console = await liveStream(hub, owner)
    const created = await owner.invoke('projects_Create', { organizationId, name: ' Harbour ' })
    expect(created).toEqual({ result: 'Created', projectId: expect.stringMatching(/^p_/) })
    expect(await owner.invoke('projects_GetDetails', { projectId: created.projectId })).toEqual({
      projectId: created.projectId,
      organizationId,
      name: 'Harbour',
      deviceCount: 0,
      certificateRenewal: true,
      retention: { eventDays: 90 },
    })
    expect(await auditRows(hub)).toEqual([
      { action: 'projects_Create', actor, data: { organizationId, name: 'Harbour' }, status: 'Succeeded' },
    ])
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'projects_Created',
        actor,
        data: { projectId: created.projectId },
        organizationId,
        projectId: created.projectId,
      },
    ])
    await until('the notice of the project', () =>
      console.changes.some(change => change.topic === 'projects' && change.projectId === created.projectId),
    )
  })
})

describe('projects_Query', () => {
  it('lists the projects of the caller, and all projects for administrators of the instance', async () => {
    const admin = await hub.user({ isAdmin: true })
    const otherTenant = await hub.user()
    const foreignProjectId = await hub.project(otherTenant, await hub.organization(otherTenant), 'Strange')
    const ids = async ({ invoke }: TestUser): Promise<string[]> =>
      (await invoke('projects_Query', {})).projects.map(project => project.projectId)
    expect(await ids(otherTenant)).toEqual([foreignProjectId])
    expect(await ids(owner)).toContain(projectId)
    expect(await ids(owner)).not.toContain(foreignProjectId)
    expect(await ids(admin)).toEqual(expect.arrayContaining([projectId, foreignProjectId]))
  })

  it('D10: lists projects and organizations in the natural order of their names, in every list', async () => {
    const person = await hub.user()
    for (const name of ['Quay 10', 'Quay 2', 'quay 1']) {
      const organizationId = await hub.organization(person)
      await hub.db
        .updateTable('organization')
        .set({ name })
        .where('organization_id', '=', organizationId)
        .execute()
    }
    const { organizations } = await person.invoke('users_QueryOrganizations', { userId: person.userId })
    expect(organizations.map(({ name }) => name)).toEqual(['quay 1', 'Quay 2', 'Quay 10'])
    const { organizationId } = organizations[0]!

    const order = ['Äpfel', 'birne', 'Plant 2', 'plant 10', 'Plant 11', 'zebra', '水泵2', '水泵10']
    for (const name of order.toReversed()) await hub.project(person, organizationId, name)
    const projects = async () => {
      const names: string[] = []
      let cursor: string | undefined
      do {
        const page = await person.invoke('organizations_QueryProjects', { organizationId, limit: 3, cursor })
        names.push(...page.projects.map(({ name }) => name))
        cursor = page.nextCursor
      } while (cursor)
      return names
    }
    expect(await projects()).toEqual(order)
    const { projects: visible } = await person.invoke('projects_Query', { sort: '-name' })
    expect(visible.map(({ name }) => name)).toEqual(order.toReversed())
    const { projects: found } = await person.invoke('organizations_Search', { organizationId, text: 'plant' })
    expect(found.map(({ name }) => name)).toEqual(['Plant 2', 'plant 10', 'Plant 11'])

    // A node of an older release writes the name only.
    await hub.db.updateTable('project').set({ name: 'Aal 10' }).where('name', '=', 'zebra').execute()
    await hub.db.updateTable('project').set({ name: 'Aal 9' }).where('name', '=', 'Plant 11').execute()
    const rest = ['Äpfel', 'birne', 'Plant 2', 'plant 10', '水泵2', '水泵10']
    expect(await projects()).toEqual(['Aal 10', 'Aal 9', ...rest])
    expect(await hub.runJob('devices_FillNameKeys', {})).toMatchObject({ status: 'Completed' })
    expect(await projects()).toEqual(['Aal 9', 'Aal 10', ...rest])
  })
})

describe('projects_SetName', () => {
  it('renames a project', async () => {
    await using console = await liveStream(hub, owner)
    expect(await owner.invoke('projects_SetName', { projectId, name: ' Quay ' })).toEqual({})
    expect(await owner.invoke('projects_GetDetails', { projectId })).toMatchObject({ name: 'Quay' })
    expect(await auditRows(hub)).toMatchObject([{ data: { projectId, name: 'Quay' }, status: 'Succeeded' }])
    expect(await auditEvents(hub)).toMatchObject([
      { event: 'projects_NameChanged', data: { projectId, name: 'Quay' }, projectId, organizationId },
    ])
    await until('the notice of the new name', () =>
      console.changes.some(change => change.projectId === projectId),
    )
  })
})

describe('projects_GetDetails', () => {
  it('counts added and deleted devices', async () => {
    const count = async (): Promise<number> =>
      (await owner.invoke('projects_GetDetails', { projectId })).deviceCount
    const devices = await Promise.all(Array.from({ length: 5 }, () => deviceRow(hub, projectId)))
    expect(await count()).toBe(5)
    await Promise.all(devices.slice(1).map(deviceId => owner.invoke('devices_Delete', { deviceId })))
    expect(await count()).toBe(1)
  })
})

describe('projects_GetSummary', () => {
  it('returns zero counts for a project without devices', async () => {
    expect(await owner.invoke('projects_GetSummary', { projectId })).toEqual({
      projectId,
      deviceCount: 0,
      connectedCount: 0,
      healthyCount: 0,
      warningCount: 0,
      errorCount: 0,
      pendingCount: 0,
      bins: [],
    })
  })

  it('returns one bin for each device while they fit, in the order of first seen', async () => {
    const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute))
    await deviceRow(hub, projectId, { firstSeen: at(3), pendingCertificates: 2 })
    await deviceRow(hub, projectId, { firstSeen: at(1), isConnected: true })
    const newest = await deviceRow(hub, projectId, {
      firstSeen: at(9),
      name: 'Gate 9',
      isConnected: true,
      pendingCertificates: 1,
    })
    await deviceRow(hub, projectId, { firstSeen: at(2) })
    expect(await owner.invoke('projects_GetSummary', { projectId })).toEqual({
      projectId,
      deviceCount: 4,
      connectedCount: 2,
      healthyCount: 2,
      warningCount: 0,
      errorCount: 0,
      pendingCount: 2,
      newestDevice: { deviceId: newest, name: 'Gate 9', firstSeen: at(9).toISOString() },
      bins: [
        { devices: 1, connected: 1, pending: 0 },
        { devices: 1, connected: 0, pending: 0 },
        { devices: 1, connected: 0, pending: 1 },
        { devices: 1, connected: 1, pending: 1 },
      ],
    })
  })

  it('counts the connected devices by health', async () => {
    for (const health of [null, '', 'healthy', 'on fire', 'degraded', 'degraded', 'error'])
      for (const isConnected of [true, false]) await deviceRow(hub, projectId, { health, isConnected })
    const neighbour = await hub.project(owner, await hub.organization(owner))
    await deviceRow(hub, neighbour, { health: 'error', isConnected: true })
    expect(await owner.invoke('projects_GetSummary', { projectId })).toMatchObject({
      deviceCount: 14,
      connectedCount: 7,
      healthyCount: 4,
      warningCount: 2,
      errorCount: 1,
    })
  })

  it.each([
    [1, 7],
    [2, 7],
    [3, 7],
    [7, 7],
    [200, 7],
    [60, 61],
    [60, 125],
  ])('returns at most %d evenly filled bins for all %d devices', async (maxBins, count) => {
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, is_connected)
       select 'd_bin' || $3 || '-' || i, $1, 'd_pk_' || i, convert_to($3 || '-' || i, 'UTF8'), i % 2 = 0 from generate_series(1, $2) i`,
      [projectId, count, projectId.slice(2, 12)],
    )
    // The answer's schema validates the id of the newest device, so that device gets a valid id.
    const newest = newId('d')
    await hub.pool.query(
      `update device set device_id = $2, first_seen = now() + interval '1 hour' where project_id = $1 and device_id like '%-1'`,
      [projectId, newest],
    )
    const { bins, deviceCount, connectedCount } = await owner.invoke('projects_GetSummary', {
      projectId,
      maxBins,
    })
    expect(bins).toHaveLength(Math.min(maxBins, count))
    expect(bins.reduce((sum, bin) => sum + bin.devices, 0)).toBe(count)
    expect(bins.reduce((sum, bin) => sum + bin.connected, 0)).toBe(connectedCount)
    expect(deviceCount).toBe(count)
    const sizes = bins.map(bin => bin.devices)
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
  })
})

describe('projects_QueryDevices', () => {
  const devicesOf = async (filter: object): Promise<unknown[]> =>
    (await owner.invoke('projects_QueryDevices', { projectId, filter })).devices.map(device => device.name)

  it('lists a device and omits fields without a value', async () => {
    const firstSeen = new Date('2026-01-02T03:04:05.678Z')
    const deviceId = await deviceRow(hub, projectId, { firstSeen })
    expect(await owner.invoke('projects_QueryDevices', { projectId })).toEqual({
      devices: [
        {
          deviceId,
          firstSeen: firstSeen.toISOString(),
          status: 'offline',
          isConnected: false,
          pendingCertificatesCount: 0,
        },
      ],
    })
  })

  it('lists a connected device with name, host name and times', async () => {
    const { token } = await hub.token(owner, projectId)
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    await owner.invoke('devices_SetName', { deviceId, name: 'Gate 1' })
    await device.invoke('devices_SetProperty', {
      deviceId,
      name: 'dev.nexigon.system.info',
      value: { hostname: 'gate-1' },
    })
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect(devices).toEqual([
      {
        deviceId,
        name: 'Gate 1',
        hostname: 'gate-1',
        firstSeen: expect.any(String),
        status: 'healthy',
        isConnected: true,
        pendingCertificatesCount: 0,
        lastConnectedAt: expect.any(String),
        currentConnectionDurationSecs: expect.any(Number),
      },
    ])
    await device[Symbol.asyncDispose]()
    const offline = await until('the disconnection in the list', async () => {
      const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
      return !devices[0]!.isConnected && devices[0]
    })
    expect(offline).toMatchObject({ status: 'offline', lastConnectedAt: expect.any(String) })
    expect(offline).not.toHaveProperty('currentConnectionDurationSecs')
    // A page of the device list also has the end of the device's last connection.
    const page = await owner.invoke('projects_QueryDevices', { projectId, limit: 1, sort: '-firstSeen' })
    const { lastConnectedAt, lastSeenAt } = page.devices[0]!
    expect(Date.parse(lastSeenAt!)).toBeGreaterThanOrEqual(Date.parse(lastConnectedAt!))
  })

  it.each([
    [null, 'healthy'],
    ['', 'healthy'],
    ['healthy', 'healthy'],
    ['degraded', 'warning'],
    ['error', 'error'],
    ['on fire', 'healthy'],
  ])(
    'maps the health %j of a connected device to %s, of a disconnected one to offline',
    async (health, status) => {
      await deviceRow(hub, projectId, { health, isConnected: true, name: 'a' })
      await deviceRow(hub, projectId, { health, isConnected: false, name: 'b' })
      const { devices } = await owner.invoke('projects_QueryDevices', { projectId, sort: 'name' })
      expect(devices.map(device => device.status)).toEqual([status, 'offline'])
    },
  )

  it('C11: sorts a device without a name by its host name, in pages and by an index', async () => {
    const unnamed = { name: null } as object
    await deviceRow(hub, projectId, { name: 'crane' })
    await deviceRow(hub, projectId, { ...unnamed, hostname: 'door' })
    await deviceRow(hub, projectId, { name: 'elevator', hostname: 'aaa' })
    await deviceRow(hub, projectId, unnamed)
    const ask = { projectId, sort: 'name', limit: 2 }
    const first = await owner.invoke('projects_QueryDevices', ask)
    const last = await owner.invoke('projects_QueryDevices', { ...ask, cursor: first.nextCursor })
    expect([...first.devices, ...last.devices].map(({ name, hostname }) => name ?? hostname)).toEqual([
      undefined,
      'crane',
      'door',
      'elevator',
    ])
    const { rows } = await hub.db.transaction().execute(async tx => {
      await sql`set local enable_sort = off; set local enable_seqscan = off`.execute(tx)
      return sql<{ 'QUERY PLAN': string }>`
        explain select from device d where d.project_id = ${projectId}
           and (coalesce(d.name, d.hostname, ''), d.device_id) > ('crane', '')
         order by coalesce(d.name, d.hostname, ''), d.device_id limit 3`.execute(tx)
    })
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    expect(plan).toMatch(/Index (Only )?Scan using device_by_name/)
    expect(plan).not.toContain('Sort')
  })

  it('C11: returns the host name in the details of a device and of the newest device', async () => {
    const deviceId = await deviceRow(hub, projectId, { name: null, hostname: 'rack-7' } as object)
    expect(await owner.invoke('devices_GetDetails', { deviceId })).toMatchObject({ hostname: 'rack-7' })
    expect(await owner.invoke('projects_GetSummary', { projectId })).toMatchObject({
      newestDevice: { deviceId, hostname: 'rack-7' },
    })
  })

  it('filters by connection, pending certificates and text, alone and combined', async () => {
    await deviceRow(hub, projectId, { name: 'online', isConnected: true, hostname: 'rack-1' })
    await deviceRow(hub, projectId, { name: 'offline', hostname: 'RACK-2' })
    await deviceRow(hub, projectId, { name: 'waiting', pendingCertificates: 1 })
    await deviceRow(hub, projectId, { name: 'online, waiting', isConnected: true, pendingCertificates: 3 })
    expect(await devicesOf({ status: 'connected' })).toEqual(['online', 'online, waiting'])
    expect(await devicesOf({ status: 'disconnected' })).toEqual(['offline', 'waiting'])
    expect(await devicesOf({ status: 'pending' })).toEqual(['waiting', 'online, waiting'])
    expect(await devicesOf({ text: 'rack' })).toEqual(['online', 'offline'])
    expect(await devicesOf({ text: 'waiting', status: 'connected' })).toEqual(['online, waiting'])
    expect(await devicesOf({ text: 'online', status: 'pending' })).toEqual(['online, waiting'])
    const page = await owner.invoke('projects_QueryDevices', {
      projectId,
      limit: 1,
      filter: { status: 'pending' },
    })
    expect(page).toMatchObject({ total: 2, nextCursor: expect.any(String) })
  })

  it.each([
    ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02 03:04:05.1+00', '2026-01-02T03:04:05.100Z'],
    ['2026-01-02 03:04:05.123999+02', '2026-01-02T01:04:05.123Z'],
  ])('returns the stored time %s as %s', async (stored, expected) => {
    const deviceId = await deviceRow(hub, projectId, { isConnected: true })
    const times = { first_seen: stored, last_connected_at: stored }
    await hub.db.updateTable('device').set(times).where('device_id', '=', deviceId).execute()
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect(devices).toMatchObject([{ firstSeen: expected, lastConnectedAt: expected }])
  })

  it('omits the total with `countTotal: false`, unless the page is the whole list', async () => {
    await deviceRow(hub, projectId)
    await deviceRow(hub, projectId)
    const ask = { projectId, countTotal: false }
    const first = await owner.invoke('projects_QueryDevices', { ...ask, limit: 1 })
    expect(first).toMatchObject({ nextCursor: expect.any(String) })
    expect(first).not.toHaveProperty('total')
    expect(await owner.invoke('projects_QueryDevices', { ...ask, limit: 2 })).toMatchObject({ total: 2 })
    for (const filter of [{ text: 'd_' }, { status: 'disconnected' as const }])
      expect(await owner.invoke('projects_QueryDevices', { ...ask, limit: 1, filter })).not.toHaveProperty(
        'total',
      )
  })

  it('refuses an unknown status', async () => {
    for (const status of ['online', 'Connected', '', 7])
      expect(
        await failed(owner.invoke('projects_QueryDevices', { projectId, filter: { status } } as never)),
      ).toMatchObject({
        kind: 'Invalid',
        issues: [{ path: 'filter.status' }],
      })
  })
})

describe('projects_CreateDeploymentToken', () => {
  it('I4: creates a token without automatic acceptance when a call has no flags', async () => {
    await owner.invoke('projects_CreateDeploymentToken', { projectId, name: 'script' })
    const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
    expect(tokens).toMatchObject([{ name: 'script', flags: { autoAccept: false } }])
  })

  it('returns a secret that a device connects with, and stores only its hash', async () => {
    await using console = await liveStream(hub, owner)
    const created = await owner.invoke('projects_CreateDeploymentToken', {
      projectId,
      name: ' Line 4 ',
      flags: { autoAccept: true },
    })
    expect(created).toEqual({
      token: expect.stringMatching(/^deployment_.{66}$/),
      tokenId: publicIdOf(created.token),
    })
    const row = await hub.db
      .selectFrom('deployment_token')
      .where('token_id', '=', created.tokenId)
      .selectAll()
      .executeTakeFirstOrThrow()
    expect(row).toMatchObject({ name: 'Line 4', auto_accept: true, token_hash: hashSecret(created.token) })
    expect(JSON.stringify(row)).not.toContain(created.token)
    expect(await auditRows(hub)).toMatchObject([
      { data: { projectId, name: 'Line 4', flags: { autoAccept: true } }, status: 'Succeeded' },
    ])
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'projects_DeploymentTokenCreated',
        data: { projectId, tokenId: created.tokenId, flags: { autoAccept: true } },
        projectId,
      },
    ])
    await until('the notice of the token', () => console.changes.some(change => change.topic === 'tokens'))
    await using device = await connectDevice({ url: hub.url, token: created.token })
    expect(device.deviceId).toMatch(/^d_/)
  })

  it.each([undefined, null, {}, { autoAccept: null }, { autoAccept: false }])(
    'creates a token without automatic acceptance when its flags are %j',
    async flags => {
      const { tokenId } = await owner.invoke('projects_CreateDeploymentToken', {
        projectId,
        name: 'x',
        flags,
      } as never)
      const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
      expect(tokens).toMatchObject([{ tokenId, flags: { autoAccept: false } }])
      expect(await auditEvents(hub)).toMatchObject([{ data: { flags: { autoAccept: false } } }])
    },
  )
})

describe('projects_QueryDeploymentTokens', () => {
  it('lists tokens newest first, without secrets, each with its last refusal', async () => {
    const first = await hub.token(owner, projectId, false)
    const second = await hub.token(owner, projectId)
    await expect(connectDevice({ url: hub.url, token: first.token })).rejects.toMatchObject({ status: 403 })
    const answer = await until('the stored refusal', async () => {
      const answer = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
      return answer.tokens[1]?.lastRefusal && answer
    })
    const createdAt = expect.any(String)
    expect(answer).toEqual({
      tokens: [
        {
          tokenId: second.tokenId,
          name: 'Test token',
          createdAt,
          flags: { autoAccept: true },
          limits: {},
          budget: { atOnce: 10_000, perHour: 600, left: 10_000 },
          enrolledDevices: 0,
          refusedDevices: 0,
        },
        {
          tokenId: first.tokenId,
          name: 'Test token',
          createdAt,
          flags: { autoAccept: false },
          limits: {},
          budget: { atOnce: 10_000, perHour: 600, left: 9_999 },
          enrolledDevices: 1,
          refusedDevices: 0,
          lastRefusal: { at: expect.any(String), reason: 'certificate is pending', count: 1 },
        },
      ],
    })
  })
})

describe('the use of a deployment token', () => {
  it('is shown with time, device and address, and its devices are counted and filtered by it', async () => {
    const { tokenId, token } = await hub.token(owner, projectId)
    const waiting = await hub.token(owner, projectId, false)
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    await owner.invoke('devices_SetName', { deviceId: deviceId as never, name: 'crane-gw-1203' })
    await expect(connectDevice({ url: hub.url, token: waiting.token })).rejects.toMatchObject({ status: 403 })
    const tokenOf = async (id: string) =>
      (await owner.invoke('projects_QueryDeploymentTokens', { projectId })).tokens.find(
        one => one.tokenId === id,
      )!
    await expect
      .poll(async () => (await tokenOf(tokenId)).lastUse)
      .toMatchObject({ deviceId, deviceName: 'crane-gw-1203', address: expect.stringContaining('127.0.0.1') })
    expect((await tokenOf(waiting.tokenId)).lastUse).toBeUndefined()
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId, filter: { tokenId } })
    expect(devices).toMatchObject([{ deviceId }])
    const { counts } = await owner.invoke('projects_QueryDeviceCounts', {
      projectId,
      filters: [
        { tokenId },
        { tokenId, status: 'pending' },
        { tokenId: waiting.tokenId },
        { tokenId: waiting.tokenId, status: 'pending' },
      ],
    })
    expect(counts).toEqual([1, 0, 1, 1])
    await owner.invoke('devices_Delete', { deviceId: deviceId as never })
    expect((await tokenOf(tokenId)).lastUse).toEqual({
      at: expect.any(String),
      address: expect.any(String),
    })
  })
})

describe('projects_SetDeploymentTokenFlags', () => {
  it('replaces all flags and turns missing ones off', async () => {
    const { tokenId } = await hub.token(owner, projectId, true)
    await hub.db.deleteFrom('audit_event').execute()
    const flagsNow = async () =>
      (await owner.invoke('projects_QueryDeploymentTokens', { projectId })).tokens[0]?.flags
    await owner.invoke('projects_SetDeploymentTokenFlags', { tokenId, flags: {} })
    expect(await flagsNow()).toEqual({ autoAccept: false })
    await owner.invoke('projects_SetDeploymentTokenFlags', { tokenId, flags: { autoAccept: true } })
    expect(await flagsNow()).toEqual({ autoAccept: true })
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'projects_DeploymentTokenFlagsChanged',
        data: { projectId, tokenId, flags: { autoAccept: false } },
      },
      {
        event: 'projects_DeploymentTokenFlagsChanged',
        data: { projectId, tokenId, flags: { autoAccept: true } },
      },
    ])
    expect(await auditRows(hub, 'projects_SetDeploymentTokenFlags')).toMatchObject([
      { data: { tokenId, flags: {} }, status: 'Succeeded' },
      { data: { tokenId, flags: { autoAccept: true } }, status: 'Succeeded' },
    ])
  })
})

describe('projects_DeleteDeploymentToken', () => {
  it('closes the connections made with it, refuses new ones, and keeps devices and other tokens', async () => {
    const { tokenId, token } = await hub.token(owner, projectId)
    const other = await hub.token(owner, projectId)
    await using device = await connectDevice({ url: hub.url, token })
    await using bystander = await connectDevice({ url: hub.url, token: other.token })
    await using console = await liveStream(hub, owner)
    expect(await owner.invoke('projects_DeleteDeploymentToken', { tokenId })).toEqual({})
    expect((await device.link.ended).reason).toBe('the deployment token was deleted')
    expect(bystander.link.isOpen).toBe(true)
    const { identity, deviceId } = device
    await expect(connectDevice({ url: hub.url, token, identity })).rejects.toMatchObject({ status: 401 })
    expect(await owner.invoke('devices_GetDetails', { deviceId })).toMatchObject({ deviceId })
    const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
    expect(tokens.map(left => left.tokenId)).toEqual([other.tokenId])
    expect(await auditRows(hub, 'projects_DeleteDeploymentToken')).toMatchObject([
      { data: { tokenId }, status: 'Succeeded' },
    ])
    expect(await auditEvents(hub, 'projects_DeploymentTokenDeleted')).toMatchObject([
      { data: { projectId, tokenId }, projectId, organizationId },
    ])
    await until('the notice of the deletion', () => console.changes.some(change => change.topic === 'tokens'))
    expect(await failed(owner.invoke('projects_DeleteDeploymentToken', { tokenId }))).toMatchObject({
      kind: 'Forbidden',
    })
  })
})

describe('projects_Delete', () => {
  it('deletes the project with its devices and tokens, closes their connections, and affects no other project', async () => {
    const { token, tokenId } = await hub.token(owner, projectId)
    const neighbour = await hub.project(owner, organizationId, 'Neighbour')
    const other = await hub.token(owner, neighbour)
    await using device = await connectDevice({ url: hub.url, token })
    await using bystander = await connectDevice({ url: hub.url, token: other.token })
    const { deviceId } = device
    for (const { deviceId, invoke } of [device, bystander]) {
      await invoke('devices_SetProperty', { deviceId, name: 'a', value: 1 })
      await invoke('devices_PublishEvents', {
        deviceId,
        events: [
          {
            eventId: 'd_ev_20261121-1203-17czX8X1',
            severity: 'Info',
            body: 1,
            attributes: {},
            emittedAt: '2026-11-21T12:03:04Z',
          },
        ],
      })
    }
    await using console = await liveStream(hub, owner)

    expect(await owner.invoke('projects_Delete', { projectId })).toEqual({})

    expect((await device.link.ended).reason).toBe('the project of this device was deleted')
    expect(bystander.link.isOpen).toBe(true)
    await hub.runJob('devices_SweepHistory', {})
    for (const table of [
      'device',
      'device_event',
      'device_property',
      'device_property_change',
      'device_connection',
    ] as const) {
      const rows = await hub.db
        .selectFrom(table)
        .where('device_id', '=', deviceId)
        .select('device_id')
        .execute()
      expect(rows, table).toEqual([])
      const kept = await hub.db
        .selectFrom(table)
        .where('device_id', '=', bystander.deviceId)
        .select('device_id')
        .execute()
      expect(kept, table).not.toEqual([])
    }
    const tokens = await hub.db
      .selectFrom('deployment_token')
      .where('token_id', '=', tokenId)
      .select('token_id')
      .execute()
    expect(tokens).toEqual([])
    expect(await failed(owner.invoke('projects_GetDetails', { projectId }))).toMatchObject({
      kind: 'Forbidden',
    })
    await expect(connectDevice({ url: hub.url, token })).rejects.toMatchObject({ status: 401 })
    expect(await auditRows(hub, 'projects_Delete')).toMatchObject([
      { data: { projectId }, status: 'Succeeded' },
    ])
    expect(await auditEvents(hub, 'projects_Deleted')).toMatchObject([
      { data: { projectId }, organizationId },
    ])
    await until('the notice of the deletion', () =>
      console.changes.some(change => change.topic === 'projects' && change.projectId === projectId),
    )
  })

  it('does not wait for locked devices, hides them at once, and lets a job delete them', async () => {
    const ada = await hub.user()
    const projectId = await hub.project(ada, await hub.organization(ada), 'Harbour')
    const { token } = await hub.token(ada, projectId)
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    const { jwt } = (await device.invoke('devices_IssueDeviceToken', { deviceId })) as { jwt: string }
    const { certificates } = await ada.invoke('devices_GetDetails', { deviceId })
    const admin = await hub.user({ isAdmin: true })
    const { devices } = await admin.invoke('instance_GetStatistics', {})
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query('select from device where device_id = $1 for update', [deviceId])

    expect(await ada.invoke('projects_Delete', { projectId })).toEqual({})

    const forbidden = { kind: 'Forbidden' }
    for (const person of [ada, admin])
      expect(await failed(person.invoke('devices_GetDetails', { deviceId }))).toMatchObject(forbidden)
    const listed = await ada.invoke('devices_Query', {})
    expect(listed.devices).toEqual([])
    const [certificate] = certificates
    expect(
      await failed(ada.invoke('devices_DeleteCertificate', { certificateId: certificate!.certificateId })),
    ).toMatchObject(forbidden)
    expect(await ada.invoke('devices_ValidateDeviceToken', { jwt })).toEqual({ result: 'Invalid' })
    expect(await admin.invoke('instance_GetStatistics', {})).toMatchObject({ devices: devices - 1 })

    await session.release()
    await hub.runJob('devices_SweepHistory', {})
    const left = async (table: string) =>
      (await hub.pool.query(`select from ${table} where project_id = $1`, [projectId])).rowCount
    expect(await left('device')).toBe(0)
    expect(await left('project_removal')).toBe(1)
    await hub.pool.query(`update project_removal set removed_at = now() - interval '6 minutes'`)
    await hub.runJob('devices_SweepHistory', {})
    expect(await left('project_removal')).toBe(0)
  })
})
