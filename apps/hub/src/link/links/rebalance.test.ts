import { newId } from '@muster/actions'
import { auditEvents, connectDevice, secondNode, testHub, until } from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { runHere } from '../../commands/testing/run-here.ts'
import { openPort } from './registry.ts'

const hub = await testHub({ heartbeatMs: 250 })
afterAll(() => hub[Symbol.asyncDispose]())

async function command(...words: string[]): Promise<string> {
  const settings = { MUSTER_DATABASE_URL: hub.pool.options.connectionString }
  const { code, out, err } = await runHere(['rebalance', ...words], settings)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out
}

const link = { onRequest: (request: { accept(): unknown }) => void request.accept() }

/** Moves the start of the release back by `minutes`, so that the next heartbeat releases as many devices as are due in this time. */
function minutesPass(minutes: number, nodeId = hub.nodeId): Promise<unknown> {
  return sql`update cluster_node set release_started_at = now() - make_interval(mins => ${minutes})
              where node_id = ${nodeId}`.execute(hub.db)
}

/** Adds a row of a node with this number of devices, which looks as if it were running. */
function insertNode(name: string, connectionCount: number): Promise<unknown> {
  return hub.db
    .insertInto('cluster_node')
    .values({
      node_id: newId('cluster_node'),
      name,
      last_heartbeat: new Date(Date.now() + 3_600_000),
      connection_count: connectionCount,
    })
    .execute()
}

it('O17: moves the surplus of the fullest node, idle devices first, at the allowed rate or fast', async () => {
  const admin = await hub.user({ isAdmin: true })
  const { token } = await hub.fleet()
  expect(await admin.invoke('cluster_StartRebalance', {})).toEqual({
    result: 'Balanced',
    deviceCount: 0,
    lastsSecs: 0,
  })
  expect(await command()).toBe('No node has a surplus of devices.\n')
  expect(await command('--cancel')).toBe('No node releases devices.\n')

  const devices = await Promise.all(
    Array.from({ length: 6 }, () => connectDevice({ url: hub.url, token, link })),
  )
  const open = () => devices.filter(device => device.link.isOpen)
  const busy = devices.slice(0, 3)
  for (const { deviceId } of busy) await openPort(hub.devices.get(deviceId)!, 80)
  await insertNode('empty', 0)
  expect(await admin.invoke('cluster_StartRebalance', {})).toEqual({
    result: 'Started',
    deviceCount: 3,
    lastsSecs: 180,
  })
  const detailsOfHub = async () => {
    const { nodes } = await admin.invoke('cluster_GetDetails', {})
    return nodes.find(({ nodeId }) => nodeId === hub.nodeId)!
  }
  expect((await detailsOfHub()).release).toEqual({ total: 3, done: 0, leftSecs: 180 })
  await minutesPass(1)
  await until('one is released', async () => (await detailsOfHub()).release?.done === 1)
  await until('its end is recorded', async () => {
    const { rows } = await hub.pool.query('select from device_connection where ended_at is null')
    return rows.length === 5
  })
  expect(await command('--status')).toMatch(/ devices, released 1 of 3, 2 min left\n/)
  expect(JSON.parse(await command('--status', '--json'))).toMatchObject({
    nodes: expect.arrayContaining([
      expect.objectContaining({ nodeId: hub.nodeId, release: { total: 3, done: 1, leftSecs: 120 } }),
    ]),
  })

  expect(await command('--cancel')).toBe('The rebalance has ended.\n')
  expect((await detailsOfHub()).release).toBeUndefined()
  // One device counts at both nodes, as after a move until the next heartbeat of the node that it left.
  await sql`update cluster_node set connection_count = 2 where name = 'empty'`.execute(hub.db)
  expect(await command('--fast')).toMatch(
    /releases 2 devices in 1 min\.\nDevices with a published Nexigon agent/,
  )
  await until('the others are released', async () => (await detailsOfHub()).release === undefined)
  await until('they are gone', () => open().length === 3)
  expect(open()).toEqual(busy)
  for (const device of devices.slice(3))
    expect(await device.link.ended).toEqual({
      kind: 'PeerClose',
      reason: 'another node of the hub has more room',
    })
  await until('their ends are recorded', async () => {
    const { rows } = await hub.pool.query(
      'select end_reason from device_connection where ended_at is not null',
    )
    return rows.length === 3 && rows.every(({ end_reason }) => end_reason === 'ServerShutdown')
  })

  const events = await auditEvents(hub)
  const mine = events.filter(({ event }) => event.startsWith('cluster_'))
  expect(mine.map(({ event, actor, data }) => [event, (actor as { actor: string }).actor, data])).toEqual([
    ['cluster_RebalanceStarted', 'User', { nodeIds: [hub.nodeId], deviceCount: 3 }],
    ['cluster_RebalanceCancelled', 'System', { nodeIds: [hub.nodeId] }],
    ['cluster_RebalanceStarted', 'System', { nodeIds: [hub.nodeId], deviceCount: 2 }],
  ])
})

it('O17: releases idle devices by itself after an outage, if the setting says so', async () => {
  const { token } = await hub.fleet()
  await using second = await secondNode(hub, { rebalance: 'auto', heartbeatMs: 250 })
  const devices = await Promise.all(
    Array.from({ length: 6 }, () => connectDevice({ url: second.url, token, link })),
  )
  const open = () => devices.filter(device => device.link.isOpen)
  const busy = devices.slice(0, 2)
  const channels = await Promise.all(busy.map(({ deviceId }) => openPort(second.devices.get(deviceId)!, 80)))
  const updating = devices.slice(2, 4)
  for (const { deviceId, invoke } of updating)
    await invoke('devices_SetProperty', {
      deviceId,
      name: 'dev.nexigon.ota.status',
      value: { state: 'installing' },
    })
  const release = async () => {
    const { rows } = await sql<{ total: number | null; done: number }>`
      select release_total as total, release_done as done from cluster_node
       where node_id = ${second.nodeId}`.execute(hub.db)
    return rows[0]!
  }
  await until('the node has reported its devices', async () => {
    const { rows } = await hub.pool.query(
      'select connection_count as count from cluster_node where node_id = $1',
      [second.nodeId],
    )
    return rows[0].count === 6
  })
  await insertNode('back', 0)
  await until('it asks itself', async () => (await release()).total === 3, 20_000)
  expect((await auditEvents(hub, 'cluster_RebalanceStarted')).at(-1)).toMatchObject({
    actor: { actor: 'System' },
    data: { nodeIds: [second.nodeId], deviceCount: 3 },
  })
  await minutesPass(10, second.nodeId)
  await until('idle devices are released', () => open().length === 4)
  expect(open()).toEqual([...busy, ...updating])
  expect(await release()).toEqual({ total: 3, done: 2 })
  channels[0]!.abort()
  await until('a device that became idle is released', () => open().length === 3)
  expect(open()).toEqual([busy[1], ...updating])
})

it('needs a database that nodes can share, and known arguments', async () => {
  expect(await runHere(['rebalance'])).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^MUSTER_DATABASE_URL: found nothing[^\n]*\n$/),
  })
  for (const words of [['--now'], ['--status', '--cancel']])
    expect(await runHere(['rebalance', ...words])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^[^\n]*\. See muster-hub rebalance --help\n$/),
    })
})
