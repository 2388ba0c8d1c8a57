import type { ActionInput } from '@muster/actions'
import { databaseSession, deviceRow, failed, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DeviceFilter, matchesFilter } from './device-filter.ts'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>

const OTA_STATUS = 'dev.nexigon.ota.status'
/** Time after which a disconnected device matches the preset filter `offlineLong`: 24 h, in seconds. */
const LONG_SECS = 24 * 60 * 60

let hub: TestHub
let owner: TestUser
let projectId: string

/** Devices of the project: their health, update status, and the seconds since the end of their last connection. */
const DEVICES: Record<string, { health?: string; status?: unknown; endedSecs?: number; pending?: number }> = {
  'a healthy': {
    health: 'healthy',
    status: { currentVersion: '2.23.0', state: 'completed', failureCount: 2 },
  },
  'b unknown': {
    health: 'on fire',
    status: { currentVersion: '2.22.4', targetVersion: '2.23.0', state: 'brewing' },
  },
  'c degraded': { health: 'degraded', status: { state: 'failed', lastError: 'disk 1 is full' } },
  'd error': { health: 'error', status: { currentVersion: '2.22.4', failureCount: 3, state: 'installing' } },
  'e just gone': { health: 'error', endedSecs: LONG_SECS - 600, pending: 1 },
  'f long gone': { health: 'degraded', endedSecs: LONG_SECS + 600, status: 'FAILED' },
  'g never here': { endedSecs: Number.NaN, pending: 2 },
}

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  const organizationId = await hub.organization(owner)
  projectId = await hub.project(owner, organizationId)
  await addDevices(projectId)
  await addDevices(await hub.project(owner, organizationId))
})
afterAll(() => hub[Symbol.asyncDispose]())

async function addDevices(projectId: string): Promise<void> {
  const { tokenId } = await hub.token(owner, projectId)
  for (const [name, { health, status, endedSecs, pending }] of Object.entries(DEVICES)) {
    const deviceId = await deviceRow(hub, projectId, {
      name,
      ...(health !== undefined && { health }),
      isConnected: endedSecs === undefined,
      ...(pending !== undefined && { pendingCertificates: pending }),
    })
    if (status !== undefined)
      await owner.invoke('devices_SetProperty', { deviceId, name: OTA_STATUS, value: status })
    if (endedSecs === undefined || Number.isNaN(endedSecs)) continue
    // Both connections began days ago; only their ends differ.
    await hub.pool.query(
      `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
       select 'd_conn_' || $1 || days, $1, (select node_id from cluster_node limit 1), $2, 'd_cert_x',
              now() - make_interval(days => days),
              case when days = 3 then now() - make_interval(secs => $3) else now() - interval '4 days' end, 'Disconnected'
         from unnest(array[3, 5]) days`,
      [deviceId, tokenId, endedSecs],
    )
    await hub.pool.query(
      `update device set last_connected_at = now() - interval '3 days' where device_id = $1`,
      [deviceId],
    )
  }
}

async function found(filter: Filter): Promise<string[]> {
  const ask = { projectId, filter, sort: 'name' }
  const whole = await owner.invoke('projects_QueryDevices', ask)
  const first = await owner.invoke('projects_QueryDevices', { ...ask, limit: 1 })
  expect(first).toMatchObject({ devices: whole.devices.slice(0, 1), total: whole.devices.length })
  return whole.devices.map(device => device.name!)
}

const letters = async (filter: Filter): Promise<string> => (await found(filter)).map(name => name[0]).join('')

describe('a device list', () => {
  it('shows the state of updates, and nothing for a device without one', async () => {
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId, sort: 'name' })
    const updates = devices.map(
      ({ currentVersion, updateTargetVersion, updateState, updateFailureCount, updateError }) => ({
        currentVersion,
        updateTargetVersion,
        updateState,
        updateFailureCount,
        updateError,
      }),
    )
    expect(updates).toEqual([
      { currentVersion: '2.23.0', updateState: 'completed', updateFailureCount: 2 },
      { currentVersion: '2.22.4', updateTargetVersion: '2.23.0', updateState: 'brewing' },
      { updateState: 'failed', updateError: 'disk # is full' },
      { currentVersion: '2.22.4', updateFailureCount: 3, updateState: 'installing' },
      {},
      {},
      {},
    ])
    expect(Object.keys(devices[6]!)).not.toContain('updateState')
  })

  it.each<[Filter, string]>([
    [{ health: 'healthy' }, 'ab'],
    [{ health: 'warning' }, 'c'],
    [{ health: 'error' }, 'd'],
    [{ health: 'offline' }, 'efg'],
    [{ preset: 'updateFailed' }, 'cd'],
    [{ preset: 'offlineLong' }, 'f'],
    [{ preset: 'neverUpdated' }, 'cefg'],
    [{ preset: 'pending' }, 'eg'],
    [{ preset: 'updateFailed', health: 'error' }, 'd'],
    [{ preset: 'updateFailed', status: 'disconnected' }, ''],
    [{ preset: 'neverUpdated', text: 'GONE' }, 'ef'],
    [{ health: 'error', properties: [{ property: OTA_STATUS, operator: 'absent' }] }, ''],
    [{ health: 'offline', properties: [{ property: OTA_STATUS, operator: 'exists' }] }, 'f'],
  ])('filtered by %j has the devices %s', async (filter, names) => {
    expect(await letters(filter)).toBe(names)
  })

  it('answers the status that its filter by health names', async () => {
    for (const health of ['healthy', 'warning', 'error', 'offline'] as const) {
      const { devices } = await owner.invoke('projects_QueryDevices', { projectId, filter: { health } })
      expect(new Set(devices.map(device => device.status))).toEqual(new Set([health]))
    }
  })

  it.each([{ health: 'degraded' }, { health: '' }, { preset: 'failed' }, { preset: ['pending'] }])(
    'refuses the filter %j',
    async filter => {
      await expect(found(filter as never)).rejects.toMatchObject({
        kind: 'Invalid',
        issues: [{ path: `filter.${Object.keys(filter)[0]}` }],
      })
    },
  )

  it('is no more visible to other organizations with a filter', async () => {
    const stranger = await hub.user()
    const own = await hub.project(stranger, await hub.organization(stranger))
    for (const filter of [{ health: 'error' }, { preset: 'updateFailed' }] as const) {
      expect(await failed(stranger.invoke('projects_QueryDevices', { projectId, filter }))).toMatchObject({
        kind: 'Forbidden',
      })
      expect(await stranger.invoke('projects_QueryDevices', { projectId: own, filter })).toEqual({
        devices: [],
      })
    }
  })

  it('finds rare problems in a large project by indexes', async () => {
    const large = await hub.project(owner, await hub.organization(owner))
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, is_connected, health, last_connected_at)
       select 'd_large' || i, $1, 'd_pk_large' || i, convert_to('large' || i, 'UTF8'), i % 500 <> 0,
              case i % 400 when 0 then 'error' when 1 then 'degraded' else 'healthy' end, now() - interval '3 days'
         from generate_series(1, 20000) i`,
      [large],
    )
    await hub.pool.query(
      `insert into device_update (device_id, property_version, current_version, state)
       select device_id, 1, '1', case when fingerprint_id like '%000' then 'failed' else 'completed' end
         from device where project_id = $1`,
      [large],
    )
    await hub.pool.query(
      `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
       select 'd_conn_' || device_id, device_id, '', '', '', last_connected_at, now(), 'Disconnected' from device where project_id = $1`,
      [large],
    )
    await using session = await databaseSession(hub)
    await session.query('analyze device, device_update, device_connection')
    const planOf = async (filter: DeviceFilter): Promise<string> => {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`
        explain select from device d where d.project_id = ${large} and ${await matchesFilter(hub.db, filter, large)}`.execute(
        hub.db,
      )
      return rows.map(row => row['QUERY PLAN']).join('\n')
    }
    expect(await planOf({ health: 'error' })).toContain('device_by_problem')
    expect(await planOf({ health: 'warning' })).toContain('device_by_problem')
    const failedUpdates = await planOf({ preset: 'updateFailed' })
    expect(failedUpdates).toContain('device_update_failed')
    expect(failedUpdates).not.toContain('Seq Scan')
    const offlineLong = await planOf({ preset: 'offlineLong' })
    expect(offlineLong).toContain('device_by_status')
    expect(offlineLong).toContain('device_connection_device')
    expect(offlineLong).not.toContain('Seq Scan')
  })
})
