import type { ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { HAS_SHARED_IDENTITY } from '../../link/gateway/shared-identity.ts'
import { HAS_FAILED } from '../software/index.ts'

type Filter = NonNullable<ParsedInput<'projects_QueryDevices'>['filter']>

/** Time after which a disconnected device matches the preset `offlineLong`, in hours. */
const OFFLINE_LONG_HOURS = 24

// The index `device_by_problem` serves the comparisons with `degraded` and `error`. Devices report the value of `health`
// (docs/protocol.md 4.3).
const HEALTH: Record<NonNullable<Filter['health']>, RawBuilder<boolean>> = {
  healthy: sql`d.is_connected and coalesce(d.health, '') not in ('degraded', 'error')`,
  warning: sql`d.is_connected and d.health = 'degraded'`,
  error: sql`d.is_connected and d.health = 'error'`,
  offline: sql`not d.is_connected`,
}

const PRESETS: Record<NonNullable<Filter['preset']>, RawBuilder<boolean>> = {
  updateFailed: sql`d.device_id in (
    select u.device_id from device_update u where ${HAS_FAILED})`,
  // The device's row has only the beginning of its last connection. The end is looked up, but only for devices whose connection began
  // long ago.
  offlineLong: sql`not d.is_connected and d.last_connected_at < now() - make_interval(hours => ${OFFLINE_LONG_HOURS})
    and (select coalesce(c.ended_at, c.connected_at) from device_connection c where c.device_id = d.device_id
          order by c.connected_at desc limit 1) < now() - make_interval(hours => ${OFFLINE_LONG_HOURS})`,
  neverUpdated: sql`not exists (
    select from device_update u where u.device_id = d.device_id and u.current_version is not null)`,
  pending: sql`d.pending_certificates > 0`,
  sharedIdentity: HAS_SHARED_IDENTITY,
}

/**
 * Condition that a device has the given health status, as `projects_QueryDevices` returns it. The surrounding query must use the alias `d`
 * for `device`.
 */
export function matchesHealth(health: NonNullable<Filter['health']>): RawBuilder<boolean> {
  return HEALTH[health]
}

/** Condition of a preset filter of the device list (docs/api.md 1.9). The surrounding query must use the alias `d` for `device`. */
export function matchesPreset(preset: NonNullable<Filter['preset']>): RawBuilder<boolean> {
  return PRESETS[preset]
}
