import { newId } from '@muster/actions'
import { auditEvents, connectDevice, testHub, until } from '@muster/testkit'
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

/** Moves the start of the release back by `minutes`, so that the next heartbeat releases as many devices as are due in this time. */
function minutesPass(minutes: number): Promise<unknown> {
  return sql`update cluster_node set release_started_at = now() - make_interval(mins => ${minutes})
              where node_id = ${hub.nodeId}`.execute(hub.db)
}

it('moves the surplus of the fullest node, idle devices first and at the allowed rate', async () => {
  const admin = await hub.user({ isAdmin: true })
  const { token } = await hub.fleet()
  expect(await admin.invoke('cluster_StartRebalance', {})).toEqual({
    result: 'Balanced',
    deviceCount: 0,
    lastsSecs: 0,
  })
  expect(await command()).toBe('No node has a surplus of devices.\n')
  expect(await command('--cancel')).toBe('No node releases devices.\n')

  const link = { onRequest: (request: { accept(): unknown }) => void request.accept() }
  const devices = await Promise.all(
    Array.from({ length: 6 }, () => connectDevice({ url: hub.url, token, link })),
  )
  const open = () => devices.filter(device => device.link.isOpen)
  const busy = devices.slice(0, 3)
  for (const { deviceId } of busy) await openPort(hub.devices.get(deviceId)!, 80)
  await hub.db
    .insertInto('cluster_node')
    .values({
      node_id: newId('cluster_node'),
      name: 'empty',
      last_heartbeat: new Date(Date.now() + 3_600_000),
      connection_count: 0,
    })
    .execute()
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
  expect(await command()).toMatch(/releases 2 devices in 2 min\.\nDevices with a published Nexigon agent/)
  // One device counts at both nodes, as after a move until the next heartbeat of the node that it left.
  await sql`update cluster_node set connection_count = 2 where name = 'empty'`.execute(hub.db)
  await minutesPass(30)
  await until('the others are released', async () => (await detailsOfHub()).release === undefined)
  await until('they are gone', () => open().length === 3)
  expect(open()).toEqual(busy)
  for (const device of devices.slice(3))
    expect(await device.link.ended).toEqual({
      kind: 'PeerClose',
      reason: 'another node of the hub has more room',
    })

  const events = await auditEvents(hub)
  const mine = events.filter(({ event }) => event.startsWith('cluster_'))
  expect(mine.map(({ event, actor, data }) => [event, (actor as { actor: string }).actor, data])).toEqual([
    ['cluster_RebalanceStarted', 'User', { nodeIds: [hub.nodeId], deviceCount: 3 }],
    ['cluster_RebalanceCancelled', 'System', { nodeIds: [hub.nodeId] }],
    ['cluster_RebalanceStarted', 'System', { nodeIds: [hub.nodeId], deviceCount: 2 }],
  ])
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
