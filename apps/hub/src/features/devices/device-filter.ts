import type { ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { partPattern } from '../../platform/database/client/page.ts'
import { HAS_FAILED, matchesSoftware } from '../software/index.ts'
import { matchesHealth, matchesPreset } from './device-conditions.ts'
import { addressMatches } from './device-search.ts'
import { matchesField } from './field-conditions.ts'
import { matchesProperty } from './property-conditions.ts'

/** Filter of the device list. */
export type DeviceFilter = Partial<NonNullable<ParsedInput<'projects_QueryDevices'>['filter']>>

/**
 * Condition that a device of a project matches a filter of the device list. The surrounding query must use the alias `d` for the table
 * `device`.
 */
export function matchesFilter(filter: DeviceFilter | undefined, projectId: string): RawBuilder<boolean> {
  if (!filter) return sql<boolean>`true`
  const {
    status,
    health,
    preset,
    text,
    address,
    bulkActionId,
    properties = [],
    fields = [],
    updateError,
    updateFailure,
    targetVersion,
    tokenId,
    software,
    deviceIds,
  } = filter
  const conditions = [...properties.map(matchesProperty), ...fields.map(matchesField)]
  if (text) conditions.unshift(sql`d.search_text like lower(${partPattern(text)})`)
  if (updateError)
    conditions.unshift(sql`d.device_id in (select u.device_id from device_update u
      where ${HAS_FAILED} and u.error = ${updateError})`)
  if (updateFailure)
    conditions.unshift(sql`d.device_id in (select u.device_id from device_update u
      where ${HAS_FAILED} and u.target_version is not distinct from ${updateFailure.targetVersion ?? null}
        and u.error is not distinct from ${updateFailure.error ?? null})`)
  if (targetVersion)
    conditions.unshift(sql`d.device_id in (
      select u.device_id from device_update u where u.target_version = ${targetVersion})`)
  if (tokenId)
    conditions.unshift(sql`d.device_id in (
      select c.device_id from device_certificate c where c.token_id = ${tokenId})`)
  if (address) conditions.unshift(hasAddress(address, projectId))
  if (software) conditions.push(matchesSoftware(software, projectId))
  if (bulkActionId)
    conditions.unshift(sql`d.device_id in (
      select i.device_id from bulk_action_item i where i.bulk_action_id = ${bulkActionId} and i.outcome = 'Succeeded')`)
  if (deviceIds) conditions.unshift(sql`d.device_id = any(${deviceIds})`)
  if (preset) conditions.unshift(matchesPreset(preset))
  if (health) conditions.unshift(matchesHealth(health))
  if (status === 'pending') conditions.unshift(sql`d.pending_certificates > 0`)
  else if (status) conditions.unshift(sql`d.is_connected = ${status === 'connected'}`)
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/** Condition that an address of a device begins with a text. A text that cannot be the beginning of an address matches no device. */
function hasAddress(text: string, projectId: string): RawBuilder<boolean> {
  const matches = addressMatches(text).map(
    ({ condition }) =>
      sql`select a.device_id from device_address a where a.project_id = ${projectId} and ${condition}`,
  )
  return matches.length === 0
    ? sql<boolean>`false`
    : sql<boolean>`d.device_id in (${sql.join(matches, sql` union all `)})`
}
