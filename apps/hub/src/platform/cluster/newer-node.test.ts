import { newDatedId, newId } from '@muster/actions'
import { deviceRow, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'

it('C1: passes on words that a node of a newer release has written', async () => {
  await using hub = await testHub()
  const admin = await hub.user({ isAdmin: true })
  const { owner, organizationId, projectId } = await hub.fleet()
  const deviceId = await deviceRow(hub, projectId)
  const newer = newId('cluster_node')
  await hub.pool.query(`
    alter table device_connection drop constraint device_connection_end_reason_check;
    alter table audit_action drop constraint audit_action_status_check;
    select pgboss.create_queue('devices_Teleport', '{"policy": "standard"}');
    insert into pgboss.job (name, data) values ('devices_Teleport', '{"jobId": "job_20261121-1200-12345678"}')`)
  await hub.db
    .insertInto('cluster_node')
    .values({ node_id: newer, name: 'newer', facts: JSON.stringify({ version: '9.0.0', moons: 2 }) })
    .execute()
  await hub.db
    .insertInto('device_connection')
    .values({
      connection_id: newId('d_conn'),
      device_id: deviceId,
      node_id: newer,
      token_id: 'deployment_id_x',
      certificate_id: 'd_c_x',
      ended_at: new Date(),
      end_reason: 'Teleported',
    })
    .execute()
  const actor = { actor: 'Robot', robotId: 'r_1' }
  await hub.db
    .insertInto('audit_action')
    .values({
      action_id: newDatedId('audit_act'),
      action: 'devices_Teleport',
      actor: JSON.stringify(actor),
      data: '{"deviceId": "d_1"}',
      status: 'Postponed',
      node_id: newer,
      request_id: 'test',
      finished_at: new Date(),
      organization_id: organizationId,
      project_id: projectId,
      device_id: deviceId,
    })
    .execute()
  await hub.db
    .insertInto('audit_event')
    .values({
      event_id: newDatedId('audit_ev'),
      event: 'devices_Teleported',
      actor: JSON.stringify(actor),
      data: '{}',
      organization_id: organizationId,
      project_id: projectId,
      device_id: deviceId,
    })
    .execute()

  const { connections } = await owner.invoke('devices_QueryConnections', { deviceId })
  expect(connections).toMatchObject([{ endReason: 'Teleported', nodeName: 'newer' }])
  const { entries } = await owner.invoke('devices_QueryTimeline', { deviceId })
  expect(entries).toMatchObject([
    { type: 'audit', event: 'devices_Teleported', actor },
    { type: 'disconnected', endReason: 'Teleported' },
    { type: 'connected' },
  ])
  const actions = await admin.invoke('audit_QueryAuditLogActions', { limit: 1 })
  expect(actions.actions).toMatchObject([{ action: 'devices_Teleport', actor, status: 'Postponed' }])
  const events = await admin.invoke('audit_QueryAuditLogEvents', { limit: 1 })
  expect(events.events).toMatchObject([{ event: 'devices_Teleported', actor }])
  await owner.invoke('projects_QueryAuditLog', { projectId })
  const { jobs } = await admin.invoke('jobs_Query', { filter: { job: 'devices_Teleport' } })
  expect(jobs).toMatchObject([{ status: 'Pending', job: 'devices_Teleport', isRepeatable: false }])
  expect((await admin.invoke('jobs_GetSummary', {})).kinds.map(({ job }) => job)).toContain(
    'devices_Teleport',
  )
  const { nodes } = await admin.invoke('cluster_GetDetails', {})
  expect(nodes.map(({ name, version }) => [name, version])).toContainEqual(['newer', '9.0.0'])
  const health = await admin.invoke('instance_GetHealth', {})
  expect(health.nodes.value?.find(({ name }) => name === 'newer')).not.toHaveProperty('facts')
})
