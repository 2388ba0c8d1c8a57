import { newDatedId, newId } from '@muster/actions'
import { auditRows, capturedLog, connectDevice, deviceRow, secondNode, testHub, until } from '@muster/testkit'
import pg from 'pg'
import { expect, it, vi } from 'vitest'
import { MigrationError, requireUsableSchema } from '../database/server/migrate.ts'
import { joinCluster } from './node.ts'

it('evicts all earlier nodes when it is the only one, even if the clock was set back', async () => {
  await using hub = await testHub()
  const { owner, projectId } = await hub.fleet()
  const dead = newId('cluster_node')
  const left = newId('cluster_node')
  const connectionId = newId('d_conn')
  const deviceId = await deviceRow(hub, projectId, { isConnected: true })
  const tomorrow = new Date(Date.now() + 24 * 60 * 60 * 1000)
  await hub.db.transaction().execute(async tx => {
    await tx
      .insertInto('cluster_node')
      .values([
        { node_id: dead, name: 'dead', last_heartbeat: tomorrow },
        { node_id: left, name: 'left', last_heartbeat: tomorrow, left_at: tomorrow },
      ])
      .execute()
    const rows = { token_id: 'deployment_id_x', certificate_id: 'd_c_x', connected_at: tomorrow }
    await tx
      .insertInto('device_connection')
      .values({ connection_id: connectionId, device_id: deviceId, node_id: dead, ...rows })
      .execute()
    await tx
      .updateTable('device')
      .set({ connection_id: connectionId })
      .where('device_id', '=', deviceId)
      .execute()
    const action = { action: 'test', actor: '{}', data: '{}', status: 'Pending', request_id: 'test' }
    await tx
      .insertInto('audit_action')
      .values([dead, left].map(node_id => ({ ...action, node_id, action_id: `audit_act_${node_id}` })))
      .execute()
  })

  await using _node = await joinCluster({
    db: hub.db,
    name: 'after the power came back',
    log: capturedLog().log,
    isAlone: true,
    readiness: hub.readiness,
    onEvicted() {},
  })
  const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
  expect(devices).toMatchObject([{ deviceId, isConnected: false, status: 'offline' }])
  const { connections } = await owner.invoke('devices_QueryConnections', { deviceId })
  expect(connections).toMatchObject([{ connectionId, endReason: 'NodeCrashed' }])
  expect((await auditRows(hub, 'test')).map(({ status }) => status)).toEqual(['Panicked', 'Panicked'])
})

it('logs which node it marks as dead, and how many connections ended', async () => {
  const { log, named } = capturedLog()
  await using hub = await testHub({ heartbeatMs: 250 }, log)
  const { projectId } = await hub.fleet()
  const dead = newId('cluster_node')
  const deviceId = await deviceRow(hub, projectId, { isConnected: true })
  await hub.db.transaction().execute(async tx => {
    await tx
      .insertInto('cluster_node')
      .values({ node_id: dead, name: 'dead', last_heartbeat: new Date(Date.now() - 60_000) })
      .execute()
    const rows = { device_id: deviceId, node_id: dead, token_id: 'deployment_id_x', certificate_id: 'd_c_x' }
    await tx
      .insertInto('device_connection')
      .values([1, 2].map(() => ({ connection_id: newId('d_conn'), ...rows })))
      .execute()
  })
  const [line] = await until('it is logged', () => {
    const lines = named('another node was marked as dead')
    return lines.length > 0 && lines
  })
  expect(line).toMatchObject({ nodeId: dead, name: 'dead', endedConnections: 2 })
  expect(line!.heartbeatAgeSecs).toBeGreaterThanOrEqual(60)
})

it('O21: does not call an earlier run of this node another node', async () => {
  const { log, named } = capturedLog()
  await using hub = await testHub({ nodeName: 'here', heartbeatMs: 250 }, log)
  const nodeId = newId('cluster_node')
  const last_heartbeat = new Date(Date.now() - 60_000)
  await hub.db.insertInto('cluster_node').values({ node_id: nodeId, name: 'here', last_heartbeat }).execute()
  const message = 'an earlier run of this node had not stopped cleanly and was marked as dead'
  await until('it is logged', () => named(message).length > 0)
  expect(named(message)).toMatchObject([{ nodeId, name: 'here', endedConnections: 0 }])
  expect(named('another node was marked as dead')).toEqual([])
})

it('ends connections that a node recorded after it was marked as dead', async () => {
  await using hub = await testHub({ heartbeatMs: 250 })
  const { projectId } = await hub.fleet()
  const deviceId = await deviceRow(hub, projectId, { isConnected: true })
  const node_id = newId('cluster_node')
  const minuteAgo = new Date(Date.now() - 60_000)
  await hub.db
    .insertInto('cluster_node')
    .values({ node_id, name: 'dead', last_heartbeat: minuteAgo, left_at: minuteAgo, evicted_at: minuteAgo })
    .execute()
  await hub.db
    .insertInto('device_connection')
    .values({
      connection_id: newId('d_conn'),
      device_id: deviceId,
      node_id,
      token_id: 'deployment_id_x',
      certificate_id: 'd_c_x',
    })
    .execute()
  await until('it has ended', async () => {
    const { end_reason } = await hub.db
      .selectFrom('device_connection')
      .where('device_id', '=', deviceId)
      .select('end_reason')
      .executeTakeFirstOrThrow()
    return end_reason === 'NodeCrashed'
  })
})

it('a node that was frozen runs no action of a device before it knows whether it was marked as dead', async () => {
  await using hub = await testHub()
  // The interval of heartbeats is so long that only the action itself can cause a heartbeat.
  await using frozen = await secondNode(hub, { heartbeatMs: 120_000 })
  const { owner, token } = await hub.fleet()
  await using device = await connectDevice({ url: frozen.url, token })
  const { deviceId } = device
  const setProperty = (name: string) => device.invoke('devices_SetProperty', { deviceId, name, value: 1 })
  await setProperty('before')
  await hub.db
    .updateTable('cluster_node')
    .set({ left_at: new Date(), evicted_at: new Date() })
    .where('node_id', '=', frozen.nodeId)
    .execute()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  try {
    await expect(setProperty('after')).rejects.toThrow()
  } finally {
    vi.useRealTimers()
  }
  expect(await device.link.ended).toEqual({
    kind: 'PeerClose',
    reason: 'the hub node was out of reach for too long',
  })
  const { properties } = await owner.invoke('devices_QueryProperties', { deviceId })
  expect(Object.keys(properties)).toEqual(['before'])
  await using again = await connectDevice({ url: frozen.url, token, identity: device.identity })
  expect((await owner.invoke('devices_GetDetails', { deviceId: again.deviceId })).isConnected).toBe(true)
})

it('lists nodes that stop, died and left, and hides a predecessor of the same name', async () => {
  await using hub = await testHub({ nodeName: 'here', heartbeatMs: 250 })
  const admin = await hub.user({ isAdmin: true })
  const ago = (secs: number): Date => new Date(Date.now() - secs * 1000)
  const [stopping, silent, left, old] = [1, 2, 3, 4].map(() => newId('cluster_node'))
  await hub.db
    .insertInto('cluster_node')
    .values([
      { node_id: stopping!, name: 'stopping', last_heartbeat: ago(-3600), draining_at: ago(1) },
      { node_id: silent!, name: 'silent', last_heartbeat: ago(14), left_at: ago(1), evicted_at: ago(1) },
      { node_id: left!, name: 'left', left_at: ago(30) },
      { node_id: newId('cluster_node'), name: 'here', left_at: ago(30) },
      { node_id: old!, name: 'old', last_heartbeat: ago(90_000), left_at: ago(90_000) },
    ])
    .execute()
  const { token } = await hub.fleet()
  await using _device = await connectDevice({ url: hub.url, token })
  const { nodes, formerNodes } = await until('the device is counted', async () => {
    const details = await admin.invoke('cluster_GetDetails', {})
    return details.nodes.some(({ connections }) => connections === 1) && details
  })
  expect(nodes.map(({ name, state, isClockWrong }) => [name, state, isClockWrong])).toEqual([
    ['here', 'Running', false],
    ['stopping', 'Draining', false],
  ])
  expect(nodes[0]!.version).toMatch(/^\d+\.\d+\.\d+$/)
  expect(formerNodes.map(({ name, state }) => [name, state])).toEqual([
    ['silent', 'Dead'],
    ['left', 'Left'],
  ])
})

it('warns once of a clock that is wrong, in the log, in /readyz and in the list of nodes', async () => {
  const { log, lines } = capturedLog()
  await using hub = await testHub({ heartbeatMs: 250 }, log)
  const admin = await hub.user({ isAdmin: true })
  const words = /^the clock of this node is \d+ s ahead of the clock of the database$/
  const clock = async () => (await admin.invoke('cluster_GetDetails', {})).nodes[0]!
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_000 })
  try {
    await until('the list shows it', async () => (await clock()).isClockWrong)
    expect((await clock()).clockAheadMs).toBeGreaterThan(595_000)
    expect(await hub.readiness.state()).toEqual({
      status: 'degraded',
      reason: expect.stringMatching(words),
    })
    expect(lines.filter(({ msg }) => words.test(String(msg)))).toHaveLength(1)
  } finally {
    vi.useRealTimers()
  }
  await until('it is right again', async () => !(await clock()).isClockWrong)
  expect(await hub.readiness.state()).toEqual({ status: 'ready' })
})

it.each([3_600_000, -3_600_000])(
  'goal R11: a clock that jumps by %d ms ends no session and no link, and loses no event',
  async jumpMs => {
    await using hub = await testHub({ heartbeatMs: 250 })
    const { owner, projectId, token } = await hub.fleet()
    const withToken = hub.withToken(await hub.userToken(owner))
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    const eventIds: string[] = []
    const publish = async (): Promise<void> => {
      const eventId = newDatedId('d_ev')
      const emittedAt = new Date().toISOString()
      const event = { eventId, severity: 'Info', category: 'test', body: 'b', attributes: {}, emittedAt }
      await device.invoke('devices_PublishEvents', { deviceId, events: [event] })
      eventIds.push(eventId)
    }
    await publish()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + jumpMs })
    try {
      await until('the node knows it', async () => (await hub.readiness.state()).status === 'degraded')
      await publish()
      await owner.invoke('projects_GetDetails', { projectId })
      await withToken('projects_GetDetails', { projectId })
      await using _other = await connectDevice({ url: hub.url, token })
    } finally {
      vi.useRealTimers()
    }
    await publish()
    const { events } = await owner.invoke('devices_QueryEvents', { deviceId, limit: 10 })
    expect(events.map(({ eventId }) => eventId).sort()).toEqual(eventIds.toSorted())
    expect(device.link.isOpen).toBe(true)
  },
)

it('warns of another running node with the same name', async () => {
  const { log, named } = capturedLog()
  await using hub = await testHub({ nodeName: 'one', heartbeatMs: 250 }, log)
  const warnings = () => named('another running node has the same name (MUSTER_NODE_NAME)')
  await using _second = await secondNode(hub, { nodeName: 'one', heartbeatMs: 250 })
  await until('it warns', () => warnings().length > 0)
})

it('a node does not run on a schema that a newer node changed before it joined, or while it was frozen', async () => {
  await using hub = await testHub()
  const refusal =
    'The database was migrated by a newer hub: 9999_contract.sql is not known here, and it suits newer releases only.'
  await using frozen = await secondNode(hub, { heartbeatMs: 250 })
  const { rows } = await hub.pool.query<{ name: string }>('select name from migration')
  await hub.pool.query(
    `create function contract() returns trigger language plpgsql as $$ begin
       insert into migration (name, checksum, oldest_release) values ('9999_contract.sql', 'x', null); return new; end $$;
     create trigger contract before insert on cluster_node for each row execute function contract()`,
  )
  await expect(secondNode(hub, { nodeName: 'late' })).rejects.toThrow(new MigrationError(refusal))
  const { rows: left } = await hub.pool.query(
    "select from cluster_node where name = 'late' and left_at is null",
  )
  expect(left).toEqual([])
  await hub.pool.query('delete from migration where name <> all ($1)', [rows.map(({ name }) => name)])

  const outdated = expect(frozen.outdated).rejects.toThrow(new MigrationError(refusal))
  await hub.pool.query(
    "insert into migration (name, checksum, oldest_release) values ('9999_contract.sql', 'x', null)",
  )
  await hub.pool.query('update cluster_node set left_at = now(), evicted_at = now() where node_id = $1', [
    frozen.nodeId,
  ])
  await outdated
})

it('a node that joins waits for a migration that began before', async () => {
  await using hub = await testHub()
  const client = new pg.Client(hub.pool.options)
  await client.connect()
  await client.query("select pg_advisory_lock(hashtext('muster.migrations'))")
  const checked = requireUsableSchema(hub.pool.options)
  const outcome = expect(checked).rejects.toThrow('9999_contract.sql is not known here')
  await until('it has looked for the lock', async () => {
    const { rows } = await client.query(
      "select from pg_stat_activity where datname = current_database() and query like 'select pg_try_advisory_lock_shared%'",
    )
    return rows.length > 0
  })
  await client.query(
    "insert into migration (name, checksum, oldest_release) values ('9999_contract.sql', 'x', null)",
  )
  await client.end()
  await outcome
})
