import type { ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { HAS_FAILED } from '../software/index.ts'
import { DEVICE_SQL, HAS_CERTIFICATE_END, STATUS_SQL, UPDATE_SQL } from './device-sql.ts'
import { matchesField } from './field-conditions.ts'

type Filter = NonNullable<ParsedInput<'projects_QueryDevices'>['filter']>

/** Time after which a disconnected device matches the preset `offlineLong`, in seconds: 24 h. */
const OFFLINE_LONG_SECS = 86_400

const PRESETS: Record<NonNullable<Filter['preset']>, RawBuilder<boolean>> = {
  updateFailed: sql`d.device_id in (
    select u.device_id from device_update u where ${HAS_FAILED})`,
  offlineLong: matchesField({ field: 'lastSeen', operator: 'greater', value: OFFLINE_LONG_SECS }),
  neverUpdated: sql`not exists (
    select from device_update u where u.device_id = d.device_id and ${UPDATE_SQL.version} is not null)`,
  pending: sql`${DEVICE_SQL.pendingCertificatesCount} > 0`,
  sharedIdentity: DEVICE_SQL.sharedIdentity,
  certificateEnds: HAS_CERTIFICATE_END,
}

/**
 * Condition that a device has the given health status, as `projects_QueryDevices` returns it. The surrounding query must use the alias `d`
 * for `device`.
 */
export function matchesHealth(health: NonNullable<Filter['health']>): RawBuilder<boolean> {
  return STATUS_SQL[health]
}

/** Condition of a preset filter of the device list (docs/api.md 1.9). The surrounding query must use the alias `d` for `device`. */
export function matchesPreset(preset: NonNullable<Filter['preset']>): RawBuilder<boolean> {
  return PRESETS[preset]
}
