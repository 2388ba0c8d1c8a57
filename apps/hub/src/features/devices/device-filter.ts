import type { ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { HAS_FAILED, matchesSoftware } from '../software/index.ts'
import { hasAddress, matchesSearch } from './device-search.ts'
import { DEVICE_SQL, HAS_CERTIFICATE_END, STATUS_SQL, UPDATE_SQL } from './device-sql.ts'
import { matchesField } from './field-conditions.ts'
import { matchesPredicate, metVersions } from './predicate-sql.ts'
import { matchesProperty } from './property-conditions.ts'

/** Filter of the device list. */
export type DeviceFilter = Partial<NonNullable<ParsedInput<'projects_QueryDevices'>['filter']>>

/** Time after which a disconnected device matches the preset `offlineLong`, in seconds: 24 h. */
const OFFLINE_LONG_SECS = 86_400

type Parts = { [Part in keyof Omit<DeviceFilter, 'predicate'>]-?: NonNullable<DeviceFilter[Part]> }

/** Condition of each preset (docs/api.md 1.9). */
const PRESETS: Record<Parts['preset'], RawBuilder<boolean>> = {
  updateFailed: hasUpdate(HAS_FAILED),
  offlineLong: matchesField({ field: 'lastSeen', operator: 'greater', value: OFFLINE_LONG_SECS }),
  neverUpdated: sql`not exists (
    select from device_update u where u.device_id = d.device_id and ${UPDATE_SQL.version} is not null)`,
  pending: sql`${DEVICE_SQL.pendingCertificatesCount} > 0`,
  sharedIdentity: DEVICE_SQL.sharedIdentity,
  certificateEnds: HAS_CERTIFICATE_END,
}

/** Condition of each part of a filter. PostgreSQL checks conditions of equal cost in this order. */
const PARTS: { [Part in keyof Parts]: (value: Parts[Part], projectId: string) => RawBuilder<boolean> } = {
  status: status =>
    status === 'pending'
      ? sql`${DEVICE_SQL.pendingCertificatesCount} > 0`
      : sql`${DEVICE_SQL.connected} = ${status === 'connected'}`,
  health: health => STATUS_SQL[health],
  preset: preset => PRESETS[preset],
  deviceIds: deviceIds => sql`d.device_id = any(${deviceIds})`,
  bulkActionId: bulkActionId => sql`d.device_id in (
    select i.device_id from bulk_action_item i where i.bulk_action_id = ${bulkActionId} and i.outcome = 'Succeeded')`,
  address: hasAddress,
  tokenId: tokenId => sql`d.device_id in (
    select c.device_id from device_certificate c where c.token_id = ${tokenId})`,
  targetVersion: version => hasUpdate(sql`${UPDATE_SQL.targetVersion} = ${version}`),
  updateFailure: ({ targetVersion, error }) =>
    hasUpdate(sql`${HAS_FAILED} and ${UPDATE_SQL.targetVersion} is not distinct from ${targetVersion ?? null}
      and ${UPDATE_SQL.updateError} is not distinct from ${error ?? null}`),
  updateError: error => hasUpdate(sql`${HAS_FAILED} and ${UPDATE_SQL.updateError} = ${error}`),
  text: matchesSearch,
  properties: properties => allOf(properties.map(matchesProperty)),
  fields: fields => allOf(fields.map(matchesField)),
  software: matchesSoftware,
}

/**
 * Condition that a device of a project matches a filter of the device list. The surrounding query must use the alias `d` for the table
 * `device`. Reads what the condition needs to know before, among the devices of the project, or only those with the given ids. Throws `Invalid`
 * for a predicate that compares too many versions.
 */
export async function matchesFilter(
  db: Db,
  filter: DeviceFilter = {},
  projectId: string,
  deviceIds?: readonly string[],
): Promise<RawBuilder<boolean>> {
  const conditionOf = <Part extends keyof Parts>(part: Part) =>
    filter[part] ? PARTS[part](filter[part] as Parts[Part], projectId) : []
  const conditions = (Object.keys(PARTS) as (keyof Parts)[]).flatMap(conditionOf)
  const { predicate } = filter
  if (!predicate) return allOf(conditions)
  const now = new Date()
  const one = deviceIds ? sql` and d.device_id = any (${deviceIds}::text[])` : sql``
  const met = await metVersions(db, predicate, sql<boolean>`d.project_id = ${projectId}${one}`, now)
  return allOf([...conditions, matchesPredicate(predicate, met, now)])
}

function allOf(conditions: readonly RawBuilder<boolean>[]): RawBuilder<boolean> {
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

function hasUpdate(condition: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`d.device_id in (select u.device_id from device_update u where ${condition})`
}
