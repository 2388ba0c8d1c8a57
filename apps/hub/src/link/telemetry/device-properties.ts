import { ActionError } from '@muster/actions'
import { RawJson } from '@muster/actions/exact-json'
import { FIELD_PREFIX, LABELS } from '@muster/predicates'
import { nameKey } from '@muster/predicates/name-key'
import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import type { Tables } from '../../platform/database/schema.ts'
import { addStoredBytes, addStoredBytesOfEach } from '../../platform/limits/stored-bytes.ts'
import { ROW_BYTES } from '../../platform/limits/write-budgets.ts'
import { type Caller, wireActor } from '../../platform/pipeline/caller.ts'
import { wireTime } from '../../platform/runtime/times.ts'
import { SYSTEM_INFO, writeAddresses } from './device-addresses.ts'
import { OTA_STATUS, writeUpdate } from './device-updates.ts'

/** Columns that `propertyOf` needs. */
export const PROPERTY_COLUMNS = ['name', 'value', 'protected', 'version', 'last_updated'] as const

/** Property in which a device reports its health (docs/protocol.md 4.3). */
const SYSTEM_HEALTH = 'dev.nexigon.system.health'

/** Property with what a device had written as its labels, before the hub had labels. */
export const LABELS_BEFORE = `${LABELS}.before`

/** Beginning of the names of properties that people change only by actions of their own, such as `devices_SetLabels`. */
const OF_HUB = 'dev.muster.'
/** Property among these that people may set: alarms that the hub raises or clears for a device. */
const ALARMS = 'dev.muster.alarms'

/**
 * Refuses a write of a property of the hub. A device writes neither its labels and the paths under which lists show them, so that it cannot
 * choose its own rollout, nor the names under which predicates read its fields: `Forbidden`, as for a protected property. For people all of
 * `dev.muster.` is `Invalid`.
 */
export function refusePropertyOfHub(name: string, caller: Caller): void {
  if (!name.startsWith(OF_HUB)) return
  if (caller.actor === 'Device') {
    if (name === LABELS || name.startsWith(`${LABELS}.`) || name.startsWith(FIELD_PREFIX))
      throw protectedError(name)
  } else if (name !== ALARMS)
    throw new ActionError(
      'Invalid',
      `name: found "${name}", which the hub keeps. ${name === LABELS ? 'Use devices_SetLabels.' : `Choose a name that does not begin with ${OF_HUB}`}`,
    )
}

/** JSON that `json` stores and `jsonb` may refuse: escapes of NUL and of surrogates, numbers with long exponents or very many digits. */
const SUSPECT_FOR_JSONB = /\\u(0000|[dD][89a-fA-F])|[eE][+-]?\d{4,}|\d{1000,}/

/** Whether `jsonb` certainly accepts a JSON text. If not, the SQL statement has to try the conversion. */
export function isPlainJson(text: string): boolean {
  return !SUSPECT_FOR_JSONB.test(text)
}

/** Converts a property row to the form of the API, with its value unchanged. */
export function propertyOf(
  row: Pick<Selectable<Tables['device_property']>, (typeof PROPERTY_COLUMNS)[number]>,
) {
  return {
    name: row.name,
    value: row.value,
    protected: row.protected,
    version: row.version,
    lastUpdated: wireTime(row.last_updated),
  }
}

/** Column of the device row that copies a part of this property for the device list, if any. */
function summaryColumnOf(name: string): 'hostname' | 'health' | undefined {
  if (SYSTEM_INFO.includes(name)) return 'hostname'
  return name === SYSTEM_HEALTH ? 'health' : undefined
}

/** Whether device lists show a part of this property. */
export function isShownInLists(name: string): boolean {
  return name === OTA_STATUS || summaryColumnOf(name) !== undefined
}

/**
 * Values for the columns `hostname` and `health` of the device row when a property is written: `null` leaves a column unchanged, and an
 * empty string means that the property's value lacks the field.
 */
export function summaryOf(name: string, text: string): { hostname: string | null; health: string | null } {
  const summary = { hostname: null, health: null }
  const column = summaryColumnOf(name)
  if (!column) return summary
  const value = new RawJson(text).parse() as { hostname?: unknown; status?: unknown } | null
  const reported = column === 'hostname' ? value?.hostname : value?.status
  return {
    ...summary,
    [column]: typeof reported === 'string' ? reported.replaceAll('\0', '').slice(0, 253) : '',
  }
}

type Write = {
  deviceId: string
  name: string
  text: string
  protected?: boolean | undefined
  expectedVersion?: number | undefined
}

/**
 * `before` is the replaced value, undefined for a new property. If the property does not have `expectedVersion`, nothing is written:
 * `VersionConflict` has its actual version, and `Deleted` means that it does not exist.
 */
type WriteResult =
  | { result: 'Set'; before: RawJson | undefined }
  | { result: 'VersionConflict'; currentVersion: number }
  | { result: 'Deleted' }

/** Sets one property; `expectedVersion` makes it a compare-and-swap. Throws `Forbidden` when a device sets a protected property. */
export async function writeProperty(tx: Tx, caller: Caller, write: Write): Promise<WriteResult> {
  const { deviceId, name, text, expectedVersion } = write
  const before = await lock(tx, caller, deviceId, name)
  if (expectedVersion !== undefined && before?.version !== expectedVersion) {
    return before ? { result: 'VersionConflict', currentVersion: before.version } : { result: 'Deleted' }
  }
  const version = (before?.version ?? (await versionFloor(tx, deviceId))) + 1
  const values = {
    value: text,
    value_bytes: Buffer.byteLength(text),
    value_json: (isPlainJson(text) ? sql`${text}::jsonb` : sql`jsonb_or_null(${text})`) as never,
    version,
    last_updated: sql`clock_timestamp()` as never,
    ...(write.protected !== undefined && { protected: write.protected }),
  }
  if (before) {
    await tx
      .updateTable('device_property')
      .set(values)
      .where('device_id', '=', deviceId)
      .where('name', '=', name)
      .execute()
  } else {
    const created = await tx
      .insertInto('device_property')
      .values({ device_id: deviceId, name, ...values })
      .onConflict(conflict => conflict.columns(['device_id', 'name']).doNothing())
      .returning('version')
      .executeTakeFirst()
    // Another transaction created the property after this transaction had found none. The next attempt finds and locks the
    // property.
    if (!created) return writeProperty(tx, caller, write)
  }
  if (before?.value.text !== text && !SYSTEM_INFO.includes(name)) {
    await recordChange(tx, caller, { deviceId, name, version, value: text })
  }
  await summarize(tx, deviceId, name)
  return { result: 'Set', before: before?.value }
}

/**
 * Removes one property; resolves to its value, or to undefined if it did not exist. Throws `Forbidden` when a device removes a protected
 * property.
 */
export async function removeProperty(
  tx: Tx,
  caller: Caller,
  deviceId: string,
  name: string,
): Promise<RawJson | undefined> {
  const before = await lock(tx, caller, deviceId, name)
  if (!before) return undefined
  await tx.deleteFrom('device_property').where('device_id', '=', deviceId).where('name', '=', name).execute()
  const version = before.version + 1
  await recordChange(tx, caller, { deviceId, name, version, value: null })
  await tx
    .updateTable('device')
    .set({ property_version_floor: sql`greatest(property_version_floor, ${version})` as never })
    .where('device_id', '=', deviceId)
    .execute()
  await summarize(tx, deviceId, name)
  return before.value
}

/**
 * Writes a protected property of each of several devices, or removes it where the text is null, with one statement for all. Locks the
 * properties in the order of `texts`, unless the transaction holds their locks. A device that lacks a property to be written is left out.
 */
export async function writeEach(
  tx: Tx,
  caller: Caller,
  name: string,
  texts: ReadonlyMap<string, string | null>,
): Promise<void> {
  const all = [...texts]
  const plain = all.map(([, text]) => text === null || isPlainJson(text))
  await sql`
    with given as (
      select device_id, text, is_plain from unnest(${all.map(([id]) => id)}::text[], ${all.map(([, text]) => text)}::text[], ${plain}::boolean[])
             as i (device_id, text, is_plain)
    ), written as (
      update device_property p
         set value = g.text::json, value_json = case when g.is_plain then g.text::jsonb else jsonb_or_null(g.text) end,
             value_bytes = octet_length(g.text), protected = true, version = p.version + 1, last_updated = clock_timestamp()
        from given g where p.device_id = g.device_id and p.name = ${name} and g.text is not null
       returning p.device_id, p.version, g.text
    ), removed as (
      delete from device_property p using given g where p.device_id = g.device_id and p.name = ${name} and g.text is null
       returning p.device_id, p.version + 1 as version
    ), floors as (
      update device d set property_version_floor = greatest(d.property_version_floor, r.version)
        from removed r where d.device_id = r.device_id
    )
    insert into device_property_change (device_id, name, version, value, actor, changed_at)
    select c.device_id, ${name}, c.version, c.text::json, ${JSON.stringify(wireActor(caller))}::jsonb, clock_timestamp()
      from (select device_id, version, text from written union all select device_id, version, null from removed) c`.execute(
    tx,
  )
  await addStoredBytesOfEach(
    tx,
    'change_bytes',
    new Map(all.map(([id, text]) => [id, ROW_BYTES + (text === null ? 0 : Buffer.byteLength(text))])),
  )
}

/**
 * Highest version of the removed properties of a device. New properties get higher versions, so that a property that is created again
 * does not repeat a version.
 */
async function versionFloor(tx: Tx, deviceId: string): Promise<number> {
  const device = await tx
    .selectFrom('device')
    .where('device_id', '=', deviceId)
    .select('property_version_floor')
    .executeTakeFirst()
  return device?.property_version_floor ?? 0
}

/**
 * Updates the copy of a changed property that device lists show: a summary column of the device row, or the rows of `device_update` and
 * `device_address`. The system information has two property names; the property that was written last counts (docs/protocol.md R-21).
 */
async function summarize(tx: Tx, deviceId: string, name: string): Promise<void> {
  if (name === OTA_STATUS) return writeUpdate(tx, deviceId)
  const column = summaryColumnOf(name)
  if (!column) return
  // Serializes changes of properties with one summary column, such as the two names of the system information. The later change
  // then sees the earlier change.
  const device = await tx
    .selectFrom('device')
    .where('device_id', '=', deviceId)
    .select('name')
    .forNoKeyUpdate()
    .executeTakeFirst()
  const latest = await tx
    .selectFrom('device_property')
    .where('device_id', '=', deviceId)
    .where('name', 'in', column === 'hostname' ? SYSTEM_INFO : [name])
    .select(['name', 'value', 'version'])
    .orderBy('last_updated', 'desc')
    .limit(1)
    .executeTakeFirst()
  const shown = latest ? summaryOf(latest.name, latest.value.text)[column] : null
  await tx
    .updateTable('device')
    .set({
      [column]: shown,
      ...(column === 'hostname' && { name_key: nameKey(device?.name ?? shown ?? '') }),
    })
    .where('device_id', '=', deviceId)
    .execute()
  if (column === 'hostname') await writeAddresses(tx, deviceId, latest)
}

async function lock(tx: Tx, caller: Caller, deviceId: string, name: string) {
  const row = await tx
    .selectFrom('device_property')
    .where('device_id', '=', deviceId)
    .where('name', '=', name)
    .select(['version', 'value', 'protected'])
    .forUpdate()
    .executeTakeFirst()
  if (row?.protected && caller.actor === 'Device') throw protectedError(name)
  return row
}

/** The error for a device that changes a property which only people may change. */
export function protectedError(name: string): ActionError {
  return new ActionError('Forbidden', `The property "${name}" is protected.`)
}

async function recordChange(
  tx: Tx,
  caller: Caller,
  change: { deviceId: string; name: string; version: number; value: string | null },
): Promise<void> {
  await tx
    .insertInto('device_property_change')
    .values({
      device_id: change.deviceId,
      name: change.name,
      version: change.version,
      value: change.value,
      actor: JSON.stringify(wireActor(caller)),
      // `now()` is the start of the transaction. Another change may have been committed since then, and would appear newer than this one.
      changed_at: sql`clock_timestamp()` as never,
    })
    .execute()
  const sizeBytes = change.value === null ? 0 : Buffer.byteLength(change.value)
  await addStoredBytes(tx, change.deviceId, 'change_bytes', sizeBytes + ROW_BYTES)
}
