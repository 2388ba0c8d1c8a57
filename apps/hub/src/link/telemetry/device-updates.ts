import { MAX_NAME_LENGTH, MAX_PATH_NAME_LENGTH } from '@muster/actions'
import { RawJson } from '@muster/actions/exact-json'
import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/client/connection.ts'

/** Property in which update scripts report the state of a device's software (docs/protocol.md 4.4). */
export const OTA_STATUS = 'dev.nexigon.ota.status'

/** Maximum length, in characters, of the texts in a row of `device_update`, except for the path and the state. */
const MAX_TEXT = 200
/** Length of the longest path `repository/package/tag`, in UTF-16 units. The name of a repository may have two units per character. */
const MAX_PATH = 2 * MAX_NAME_LENGTH + 2 * MAX_PATH_NAME_LENGTH + 2
/** Maximum length, in characters, of the state in a row of `device_update`. */
const MAX_STATE = 64
/** Largest failure count, a 32-bit unsigned number (docs/protocol.md 4.4). */
const MAX_FAILURES = 2 ** 32 - 1

/** Length to which an error is cut before its variable parts are replaced, which bounds the work for errors of up to 1 MiB. */
const MAX_READ_ERROR = 2_000
/**
 * Parts that differ between errors of the same kind: UUIDs, numbers with `0x`, hexadecimal words that have a digit or at least eight
 * letters, and other digits.
 */
const VARIABLE_PARTS =
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b0x[0-9a-f]+|\b(?:(?=[a-f]*\d)[0-9a-f]+|[a-f]{8,})\b|\d+/gi

type DeviceUpdate = {
  path: string | null
  current_version: string | null
  target_version: string | null
  state: string | null
  failure_count: number | null
  error: string | null
}

/**
 * Reads the columns of `device_update` from the JSON text of an update status. Scripts may write any JSON, so a field of a wrong type
 * becomes null. An unknown state is kept. The error has `#` in place of numbers and ids, so that equal errors of many devices are one
 * group.
 */
function updateOf(text: string): DeviceUpdate {
  const value = record(new RawJson(text).parse())
  const failures = value.failureCount
  const error = textOf(value.lastError, MAX_READ_ERROR)
  return {
    path: textOf(record(value.config).path, MAX_PATH),
    current_version: textOf(value.currentVersion, MAX_TEXT),
    target_version: textOf(value.targetVersion, MAX_TEXT),
    state: textOf(value.state, MAX_STATE),
    failure_count:
      Number.isInteger(failures) && (failures as number) >= 0 && (failures as number) <= MAX_FAILURES
        ? (failures as number)
        : null,
    error: error === null ? null : textOf(error.replace(VARIABLE_PARTS, '#'), MAX_TEXT),
  }
}

/** Columns of `device_update` as JSON text if a property is the update status, else null. */
export function updateTextOf(name: string, text: string): string | null {
  return name === OTA_STATUS ? JSON.stringify(updateOf(text)) : null
}

/**
 * Writes or removes the row of `device_update` after a change of the property. The transaction holds the lock of the property's row, or
 * has deleted that row, so that no concurrent change of the property can store a different row.
 */
export async function writeUpdate(tx: Tx, deviceId: string): Promise<void> {
  const property = await tx
    .selectFrom('device_property')
    .where('device_id', '=', deviceId)
    .where('name', '=', OTA_STATUS)
    .select(['version', 'value'])
    .executeTakeFirst()
  if (!property) {
    await tx.deleteFrom('device_update').where('device_id', '=', deviceId).execute()
    return
  }
  const columns = { property_version: property.version, ...updateOf(property.value.text) }
  await tx
    .insertInto('device_update')
    .values({ device_id: deviceId, ...columns })
    .onConflict(conflict => conflict.column('device_id').doUpdateSet(columns))
    .execute()
}

/**
 * Writes missing and outdated rows of `device_update` for the next `count` devices after `deviceId`, in the order of their ids. Resolves to
 * the last of these devices, or to undefined when none is left.
 */
export async function fillUpdates(db: Db, deviceId: string, count: number): Promise<string | undefined> {
  const { rows: devices } = await sql<{ device_id: string; version: number | null; value: RawJson | null }>`
    select d.device_id, p.version, p.value
      from (select device_id from device where device_id > ${deviceId} order by device_id limit ${count}) d
      left join device_update u using (device_id)
      left join device_property p on p.device_id = d.device_id and p.name = ${OTA_STATUS}
       and (u.property_version is null or u.property_version < p.version)
     order by d.device_id`.execute(db)
  const outdated = devices.filter(device => device.version !== null)
  if (outdated.length > 0) {
    const ids = outdated.map(device => device.device_id)
    const versions = outdated.map(device => device.version!)
    const texts = outdated.map(device => updateTextOf(OTA_STATUS, device.value!.text))
    // The lock makes writers of a property wait. A property that was changed or removed since the query is skipped, because that
    // change has also written or removed the row of `device_update`.
    await sql`
      with unchanged as (
        select i.device_id, i.version, i.columns
          from unnest(${ids}::text[], ${versions}::bigint[], ${texts}::text[]) as i (device_id, version, columns)
          join device_property p on p.device_id = i.device_id and p.name = ${OTA_STATUS} and p.version = i.version
         order by p.device_id for share of p
      )
      insert into device_update (device_id, property_version, path, current_version, target_version, state, failure_count, error)
      select device_id, version, u.* from unchanged
       cross join lateral jsonb_to_record(columns::jsonb) as u
         (path text, current_version text, target_version text, state text, failure_count bigint, error text)
      on conflict (device_id) do update set property_version = excluded.property_version, path = excluded.path,
        current_version = excluded.current_version, target_version = excluded.target_version, state = excluded.state,
        failure_count = excluded.failure_count, error = excluded.error
       where device_update.property_version < excluded.property_version`.execute(db)
  }
  return devices.at(-1)?.device_id
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/**
 * The first `max` characters of a text; null for an empty text and for values of other types. NUL and unpaired surrogates are removed or
 * replaced, because PostgreSQL refuses them.
 */
function textOf(value: unknown, max: number): string | null {
  if (typeof value !== 'string') return null
  return (
    value
      .slice(0, 2 * max)
      .replaceAll('\0', '')
      .slice(0, max)
      .replace(/[\ud800-\udbff]$/, '')
      .toWellFormed() || null
  )
}
