import { newId } from '@muster/actions'
import { auditRows, capturedLog, deviceRow, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
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
