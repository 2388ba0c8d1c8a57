import type { CertificateStatus } from '@muster/actions'
import { sql } from 'kysely'
import { refusalOf } from '../../database/refusals.ts'
import { handler } from '../../handler.ts'
import { secsBetween, wireTime } from '../../times.ts'

export const devices_GetDetails = handler('devices_GetDetails', async ({ db }, { deviceId }) => {
  const [device, certificates, connections] = await Promise.all([
    db
      .selectFrom('device')
      .where('device_id', '=', deviceId)
      .select(['project_id', 'fingerprint_id', 'name', 'first_seen', 'is_connected', 'last_connected_at'])
      .select(['last_refusal_at', 'last_refusal_reason', 'last_refusal_count'])
      .executeTakeFirstOrThrow(),
    db
      .selectFrom('device_certificate as c')
      .where('c.device_id', '=', deviceId)
      .select(['c.certificate_id', 'c.status', 'c.fingerprint', 'c.first_seen'])
      .select(
        sql<boolean>`exists (select 1 from device_certificate o join device od using (device_id) join device d on d.device_id = c.device_id
          where o.fingerprint = c.fingerprint and o.device_id <> c.device_id and od.project_id = d.project_id)`.as(
          'is_shared',
        ),
      )
      .orderBy('c.first_seen', 'desc')
      .orderBy('c.certificate_id')
      .execute(),
    db
      .selectFrom('device_connection as c')
      .leftJoin('cluster_node as n', 'n.node_id', 'c.node_id')
      .where('c.device_id', '=', deviceId)
      .where('c.ended_at', 'is', null)
      .select(['c.connection_id', 'c.node_id', 'n.name as node_name', 'c.connected_at'])
      .orderBy('c.connected_at', 'desc')
      .execute(),
  ])
  const now = new Date()
  return {
    deviceId,
    projectId: device.project_id,
    fingerprintId: device.fingerprint_id,
    name: device.name ?? undefined,
    firstSeen: wireTime(device.first_seen),
    isConnected: device.is_connected,
    lastConnectedAt: device.last_connected_at ? wireTime(device.last_connected_at) : undefined,
    lastRefusal: refusalOf(device),
    certificates: certificates.map(row => ({
      certificateId: row.certificate_id,
      status: row.status as CertificateStatus,
      fingerprint: row.fingerprint,
      firstSeen: wireTime(row.first_seen),
      isShared: row.is_shared,
    })),
    connections: connections.map(row => ({
      connectionId: row.connection_id,
      nodeId: row.node_id,
      nodeName: row.node_name ?? undefined,
      connectedAt: wireTime(row.connected_at),
      connectedForSecs: secsBetween(row.connected_at, now),
    })),
  }
})
