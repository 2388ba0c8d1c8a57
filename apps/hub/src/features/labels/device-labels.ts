import { ActionError } from '@muster/actions'
import { isLabelKey, LABELS, MAX_LABELS } from '@muster/predicates'
import { type RawBuilder, sql } from 'kysely'
import {
  LABELS_BEFORE,
  removeProperty,
  writeEach,
  writeProperty,
} from '../../link/telemetry/device-properties.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import { type Caller, SYSTEM } from '../../platform/pipeline/caller.ts'

/** Labels of a device: values by their keys. */
export type LabelValues = Record<string, string>

/** A label that was set (`value`), replaced (both) or removed (`old`). */
export type LabelChange = { key: string; value?: string; old?: string }

/** SQL of the labels of the device `d` as a JSON object, null if it has none. */
export const LABELS_OF_DEVICE =
  '(select jsonb_object_agg(l.key, l.value) from device_label l where l.device_id = d.device_id)'
/** The same for a statement that is built of parts. */
export const labelsOfDevice = sql<LabelValues | null>`${sql.raw(LABELS_OF_DEVICE)}`

/** Value of a label of the device `d`, null if it has none. */
export function labelOfDevice(key: string): RawBuilder<string | null> {
  return sql<
    string | null
  >`(select l.value from device_label l where l.device_id = d.device_id and l.key = ${key})`
}

/** Condition that the device `d` has a label that meets `matches`, a condition on `l.value`. The index by key and value serves it. */
export function hasLabel(key: string, matches: RawBuilder<unknown> = sql`true`): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from device_label l
     where l.device_id = d.device_id and l.project_id = d.project_id and l.key = ${key} and ${matches})`
}

const PREFIX = `${LABELS}.`

/**
 * Key of the label that a path of a property names, such as `site` for `dev.muster.labels.site`; undefined for a path that names none. Lists,
 * columns and suggestions take labels under these paths.
 */
export function labelOfPath(path: string): string | undefined {
  const key = path.startsWith(PREFIX) ? path.slice(PREFIX.length) : ''
  return isLabelKey(key) ? key : undefined
}

/** Labels to set and to remove of a device. */
export type LabelsOfDevice = { set: Readonly<LabelValues>; remove: readonly string[] }

/**
 * Changes labels of a device, each key by itself: two people who change different keys at once lose nothing. Resolves to all labels
 * afterwards, with the changes. Throws `Invalid` if the device would have too many labels.
 */
export async function changeLabels(
  tx: Tx,
  caller: Caller,
  deviceId: string,
  wanted: LabelsOfDevice,
): Promise<{ labels: LabelValues; changes: LabelChange[] }> {
  const isSetting = Object.keys(wanted.set).length > 0
  const before = (await lockLabels(tx, [deviceId], isSetting ? [deviceId] : [])).get(deviceId)!
  const { labels, changes } = changedLabels(before, wanted)
  if (changes.length === 0) return { labels, changes }
  const count = Object.keys(labels).length
  if (count > MAX_LABELS)
    throw new ActionError(
      'Invalid',
      `The device would have ${count} labels; at most ${MAX_LABELS} are possible. Remove some first.`,
    )
  await writeLabels(tx, caller, new Map([[deviceId, labels]]))
  return { labels, changes }
}

/** The labels of a device after some are set and removed, in the order of their keys, with what changes. */
export function changedLabels(
  before: Readonly<LabelValues>,
  { set, remove }: LabelsOfDevice,
): { labels: LabelValues; changes: LabelChange[] } {
  // A map, because a key such as `constructor` names a member of every object.
  const former = new Map(Object.entries(before))
  const after = new Map(former)
  for (const key of remove) after.delete(key)
  for (const [key, value] of Object.entries(set)) after.set(key, value)
  const labels = Object.fromEntries([...after].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  const changes = [...new Set([...Object.keys(set), ...remove])].flatMap(key => {
    const [old, value] = [former.get(key), after.get(key)]
    return old === value
      ? []
      : [{ key, ...(value !== undefined && { value }), ...(old !== undefined && { old }) }]
  })
  return { labels, changes }
}

/** Writes all labels of each device, whose labels are locked (`lockLabels`), with few statements. */
export function writeLabels(
  tx: Tx,
  caller: Caller,
  labels: ReadonlyMap<string, Readonly<LabelValues>>,
): Promise<void> {
  const texts = [...labels].map(([deviceId, values]): [string, string | null] => [
    deviceId,
    Object.keys(values).length === 0 ? null : JSON.stringify(values),
  ])
  return writeEach(tx, caller, LABELS, new Map(texts))
}

/**
 * Reads the labels of devices under locks that last until the end of the transaction, in the order of the ids. The devices in `creates`
 * get the empty property if they have no labels, so that there is a row to lock. `writeLabels` must write these.
 */
export async function lockLabels(
  tx: Tx,
  deviceIds: readonly string[],
  creates: readonly string[],
): Promise<Map<string, LabelValues>> {
  const reported = await tx
    .selectFrom('device_property')
    .where(sql<boolean>`device_id = any (${deviceIds}::text[])`)
    .where('name', '=', LABELS)
    .where('protected', '=', false)
    .select('device_id')
    .execute()
  for (const { device_id: deviceId } of reported) await moveReportedLabels(tx, deviceId)
  if (creates.length > 0)
    await sql`
      insert into device_property (device_id, name, value, value_json, value_bytes, protected, version)
      select device_id, ${LABELS}, '{}', '{}', 2, true, property_version_floor from device
       where device_id = any (${creates}::text[]) order by device_id
      on conflict (device_id, name) do nothing`.execute(tx)
  const rows = await tx
    .selectFrom('device_property')
    .where(sql<boolean>`device_id = any (${deviceIds}::text[])`)
    .where('name', '=', LABELS)
    .select(['device_id', 'value'])
    .orderBy('device_id')
    .forUpdate()
    .execute()
  const found = new Map(rows.map(row => [row.device_id, labelsIn(row.value.parse())]))
  return new Map(deviceIds.map(deviceId => [deviceId, found.get(deviceId) ?? {}]))
}

/** The labels in a value of the property. A person may have set any JSON with a node of an older release; what is no text is left out. */
function labelsIn(value: unknown): LabelValues {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/**
 * Moves a value that the device wrote as its labels, before the hub had labels, to the property `dev.muster.labels.before`. Resolves to
 * whether there was one.
 */
export async function moveReportedLabels(tx: Tx, deviceId: string): Promise<boolean> {
  const reported = await tx
    .selectFrom('device_property')
    .where('device_id', '=', deviceId)
    .where('name', '=', LABELS)
    .where('protected', '=', false)
    .select('value')
    .forUpdate()
    .executeTakeFirst()
  if (!reported) return false
  await removeProperty(tx, SYSTEM, deviceId, LABELS)
  await writeProperty(tx, SYSTEM, { deviceId, name: LABELS_BEFORE, text: reported.value.text })
  return true
}
