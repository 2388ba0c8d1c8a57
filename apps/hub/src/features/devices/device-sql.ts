import { CERTIFICATE_ENDS_SOON_DAYS } from '@muster/actions'
import type { DeviceFieldName } from '@muster/predicates'
import { type RawBuilder, sql } from 'kysely'
import { HAS_SHARED_IDENTITY } from '../../link/gateway/shared-identity.ts'
import { HAS_FAILED } from '../software/index.ts'

/** End of the last connection of a device that is not connected. The device's row has only the beginning of that connection. */
export const LAST_END = sql`(
  select coalesce(c.ended_at, c.connected_at) from device_connection c where c.device_id = d.device_id
   order by c.connected_at desc limit 1)`

/**
 * Sort key by the time at which devices were last seen. A disconnected device was last seen when its last connection ended, or else when it
 * first appeared. Connected devices are seen at this moment, so they sort after all others: by the beginning of their connection, moved a
 * thousand years ahead. There is no index on this key, because each reconnect of a device would change an index entry.
 */
export const LAST_SEEN_ORDER = sql`case
  when d.is_connected then coalesce(d.last_connected_at, d.first_seen) + interval '1000 years'
  else coalesce(${LAST_END}, d.first_seen) end`

/**
 * Condition of each status. The index `device_by_problem` serves the comparisons with `degraded` and `error`, which devices report as their
 * health. A connected device that reports no health or an unknown health is healthy (docs/protocol.md 4.3).
 */
export const STATUS_SQL = {
  healthy: sql<boolean>`d.is_connected and coalesce(d.health, '') not in ('degraded', 'error')`,
  warning: sql<boolean>`d.is_connected and d.health = 'degraded'`,
  error: sql<boolean>`d.is_connected and d.health = 'error'`,
  offline: sql<boolean>`not d.is_connected`,
}
const STATUS_CASES = Object.entries(STATUS_SQL).map(([status, is]) => sql`when ${is} then ${sql.lit(status)}`)

/**
 * Sort key of the order with problems first: devices with an error, a failed update, a warning, disconnected devices, then all others, each in
 * the order of their names.
 */
export const PROBLEM_ORDER = sql`(case
  when ${STATUS_SQL.error} then '0'
  when d.device_id in (select u.device_id from device_update u where ${HAS_FAILED}) then '1'
  when ${STATUS_SQL.warning} then '2'
  when ${STATUS_SQL.offline} then '3'
  else '4' end || d.name_key) collate "C"`

/**
 * Fields in the row `u` of `device_update`, which a device has once it reports the status of its update. A query reads `u` by a join or in
 * a subquery for the rows of a page.
 */
export const UPDATE_SQL = {
  version: sql.ref('u.current_version'),
  update: sql.ref('u.state'),
  targetVersion: sql.ref('u.target_version'),
  updateFailureCount: sql.ref('u.failure_count'),
  updateError: sql.ref('u.error'),
} satisfies Partial<Record<DeviceFieldName, RawBuilder<unknown>>>

/** End of the last active certificate of a device, while it is near or over. Null for certificates whose end is unknown. */
export const CERTIFICATE_END = `(
  select e.end_at from (
    select max(c.expires_at) as end_at from device_certificate c where c.device_id = d.device_id and c.status = 'Active'
  ) e where e.end_at < now() + interval '${CERTIFICATE_ENDS_SOON_DAYS} days')`

/**
 * Condition that the certificates of a device end soon. The second line lets PostgreSQL use the index `device_certificate_end`, which
 * has no certificates that end later.
 */
export const HAS_CERTIFICATE_END = sql<boolean>`(d.device_id in (
  select c.device_id from device_certificate c
   where c.status = 'Active' and c.expires_at < '2100-01-01T00:00:00Z'
     and c.expires_at < now() + interval '${sql.raw(String(CERTIFICATE_ENDS_SOON_DAYS))} days'
) and ${sql.raw(CERTIFICATE_END)} is not null)`

/** The other fields. The surrounding query must use the alias `d` for `device`. Times are selected as text (`wireTimeOf`). */
export const DEVICE_SQL = {
  deviceId: sql.ref<string>('d.device_id'),
  name: sql.ref<string | null>('d.name'),
  firstSeen: sql.ref<string>('d.first_seen'),
  status: sql<keyof typeof STATUS_SQL>`case ${sql.join(STATUS_CASES, sql` `)} end`,
  pendingCertificatesCount: sql.ref<number>('d.pending_certificates'),
  lastSeen: sql<string | null>`case when not d.is_connected then ${LAST_END} end`,
  hostname: sql.ref<string | null>('d.hostname'),
  connected: sql.ref<boolean>('d.is_connected'),
  sharedIdentity: HAS_SHARED_IDENTITY,
  certificateEnds: sql<string | null>`${sql.raw(CERTIFICATE_END)}`,
  lastConnectedAt: sql.ref<string | null>('d.last_connected_at'),
} satisfies Record<Exclude<DeviceFieldName, keyof typeof UPDATE_SQL>, RawBuilder<unknown>>
