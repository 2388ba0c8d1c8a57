import type { CertificateStatus } from '@muster/actions'
import { type RefusalColumns, refusalOf } from '../../../link/gateway/refusals.ts'
import {
  SHARED_IDENTITY,
  type StoredSharedIdentity,
  wireSharedIdentity,
} from '../../../link/gateway/shared-identity.ts'
import { refusal } from '../../../platform/access/authorize.ts'
import { select } from '../../../platform/database/client/connection.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { secsBetween, wireTime } from '../../../platform/runtime/times.ts'
import { LABELS_OF_DEVICE } from '../../labels/index.ts'
import { CERTIFICATE_END } from '../device-sql.ts'

/** Another device that has the same certificate. */
type SharedWith = {
  deviceId: string
  name: string | null
  hostname: string | null
  status: CertificateStatus
}

/** Maximum number of other devices that are named for one certificate. */
const MAX_SHARED = 5
/** Maximum number of other devices that are counted for one certificate. Whole fleets may share one, and look-ups must be fast. */
const MAX_SHARED_COUNT = 100

type Row = RefusalColumns & {
  last_refusal_since: Date | null
  project_id: string
  fingerprint_id: string
  name: string | null
  hostname: string | null
  first_seen: Date
  is_connected: boolean
  last_connected_at: Date | null
  certificate_ends_at: Date | null
  /** Times in this list are ISO 8601 strings and not `Date`, because PostgreSQL renders them in `jsonb_agg`. */
  certificates: {
    certificateId: string
    status: CertificateStatus
    fingerprint: string
    firstSeen: string
    tokenId: string | null
    tokenName: string | null
    remoteAddress: string | null
    expiresAt: string | null
    predecessorId: string | null
    isShared: boolean
    sharedWith: SharedWith[] | null
    sharedCount: number
  }[]
  shared_identity: StoredSharedIdentity | null
  update_error: string | null
  labels: Record<string, string> | null
  refusals: { at: string; reason: string; address: string }[]
  limit_hits: { limit: string; message: string; count: number; firstAt: string; lastAt: string }[]
  connections: { connectionId: string; nodeId: string; nodeName: string | null; connectedAt: string }[]
}

// Reads everything in a single statement, because an open device page of the console refetches the details at every change. The text
// `is true` is explained at `CLOSE` in `link/gateway/presence.ts`.
const DETAILS = `
    select d.project_id, d.fingerprint_id, d.name, d.hostname, d.first_seen, d.is_connected, d.last_connected_at,
           d.last_refusal_at, d.last_refusal_reason, d.last_refusal_count, d.last_refusal_since,
           coalesce((select r.latest from device_refusals r where r.device_id = d.device_id), '[]') as refusals,
           ${SHARED_IDENTITY} as shared_identity, ${CERTIFICATE_END} as certificate_ends_at,
           (select u.error from device_update u where u.device_id = d.device_id) as update_error,
           ${LABELS_OF_DEVICE} as labels,
           coalesce((
             select jsonb_agg(jsonb_build_object('certificateId', c.certificate_id, 'status', c.status,
                      'fingerprint', c.fingerprint, 'firstSeen', c.first_seen,
                      'tokenId', c.token_id, 'remoteAddress', c.remote_address,
                      'expiresAt', c.expires_at, 'predecessorId', c.predecessor_id,
                      'tokenName', (select t.name from deployment_token t where t.token_id = c.token_id),
                      'isShared', exists (select 1 from device_certificate o join device od using (device_id)
                         where o.fingerprint = c.fingerprint and o.device_id <> d.device_id
                           and od.project_id = d.project_id),
                      'sharedWith', s.devices, 'sharedCount', s.count)
                    order by c.first_seen desc, c.certificate_id)
               from device_certificate c left join lateral (
                 select count(*), (array_agg(jsonb_build_object('deviceId', o.device_id, 'name', o.name, 'hostname', o.hostname,
                                                                'status', o.status)
                                   order by o.first_seen, o.device_id))[:${MAX_SHARED}] as devices
                   from (
                     select od.device_id, od.name, od.hostname, o.status, o.first_seen
                       from device_certificate o join device od using (device_id)
                      where o.fingerprint = c.fingerprint and o.device_id <> d.device_id and od.project_id = d.project_id
                        and o.status in ('Pending', 'Active')
                      limit ${MAX_SHARED_COUNT}
                   ) o
               ) s on true
              where c.device_id = d.device_id), '[]') as certificates,
           coalesce((
             select jsonb_agg(jsonb_build_object('connectionId', c.connection_id, 'nodeId', c.node_id,
                      'nodeName', n.name, 'connectedAt', c.connected_at)
                    order by c.connected_at desc)
               from device_connection c left join cluster_node n on n.node_id = c.node_id
              where c.device_id = d.device_id and (c.ended_at is null) is true), '[]') as connections,
           coalesce((
             select jsonb_agg(jsonb_build_object('limit', h.limit_name, 'message', h.message, 'count', h.hits,
                      'firstAt', h.first_hit_at, 'lastAt', h.last_hit_at) order by h.last_hit_at desc)
               from limit_hit h where h.subject_id = d.device_id), '[]') as limit_hits
      from device d where d.device_id = $1`

function wireSharedWith({ name, hostname, ...other }: SharedWith) {
  return { ...other, name: name ?? undefined, hostname: hostname || undefined }
}

function lastRefusalOf(device: Row) {
  const last = refusalOf(device)
  return (
    last && { ...last, since: device.last_refusal_since ? wireTime(device.last_refusal_since) : undefined }
  )
}

/** Returns a device with its certificates, open connections, refused connections and exceeded limits. */
export const devices_GetDetails = handler('devices_GetDetails', async ({ db, services }, { deviceId }) => {
  const [device] = await select<Row>(db, DETAILS, [deviceId])
  // The device was deleted after the permission check.
  if (!device) throw refusal()
  const now = new Date()
  return {
    deviceId,
    projectId: device.project_id,
    fingerprintId: device.fingerprint_id,
    name: device.name ?? undefined,
    hostname: device.hostname || undefined,
    firstSeen: wireTime(device.first_seen),
    isConnected: device.is_connected,
    lastConnectedAt: device.last_connected_at ? wireTime(device.last_connected_at) : undefined,
    lastRefusal: lastRefusalOf(device),
    refusals: device.refusals.map(({ at, ...refused }) => ({ at: wireTime(new Date(at)), ...refused })),
    sharedIdentity: device.shared_identity ? wireSharedIdentity(device.shared_identity) : undefined,
    certificateEndsAt: device.certificate_ends_at ? wireTime(device.certificate_ends_at) : undefined,
    updateError: device.update_error ?? undefined,
    labels: device.labels ?? undefined,
    limitHits: device.limit_hits.map(({ firstAt, lastAt, ...hit }) => ({
      ...hit,
      firstAt: wireTime(new Date(firstAt)),
      lastAt: wireTime(new Date(lastAt)),
    })),
    unregisteredLinks: services.shares.linksOfDevice(deviceId),
    certificates: device.certificates.map(
      ({ tokenId, tokenName, remoteAddress, expiresAt, predecessorId, sharedWith, sharedCount, ...one }) => ({
        ...one,
        ...(sharedWith && { sharedWith: sharedWith.map(wireSharedWith), sharedCount }),
        firstSeen: wireTime(new Date(one.firstSeen)),
        tokenId: (tokenId ?? undefined) as never,
        tokenName: tokenName ?? undefined,
        remoteAddress: remoteAddress ?? undefined,
        expiresAt: expiresAt === null ? undefined : wireTime(new Date(expiresAt)),
        predecessorId: (predecessorId ?? undefined) as never,
      }),
    ),
    connections: device.connections.map(({ connectedAt, nodeName, ...one }) => ({
      ...one,
      nodeName: nodeName ?? undefined,
      connectedAt: wireTime(new Date(connectedAt)),
      connectedForSecs: secsBetween(new Date(connectedAt), now),
    })),
  }
})
