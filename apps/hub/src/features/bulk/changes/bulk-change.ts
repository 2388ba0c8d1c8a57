import { ActionError, actions } from '@muster/actions'
import { MAX_LABELS } from '@muster/predicates'
import { nameKey } from '@muster/predicates/name-key'
import { sql } from 'kysely'
import type { Tx } from '../../../platform/database/client/connection.ts'
import type { CommandTransaction } from '../../../platform/pipeline/command-transaction.ts'
import {
  changedLabels,
  emitLabelChanges,
  type LabelChange,
  type LabelValues,
  lockLabels,
  writeLabels,
} from '../../labels/index.ts'
import { type BulkItem, type BulkKind, type ItemResult, type PortionWork, skipped } from '../bulk-kind.ts'
import { type Change, labelCountAfter, type Marks, valueIn } from './change.ts'

/**
 * Bulk action that changes labels and names as its preview has planned for each device. A device changes as a whole or not at all: it is
 * skipped if one of its values is neither the one of the preview nor the new one.
 */
export const bulkChange: BulkKind = {
  permission: actions.devices_StartBulkChange.permission,
  // A change can be undone, so it starts at once.
  delaySecs: 0,
  // The locks of a portion hold up writes of its devices for about 0.1 s.
  portion: 200,
  locksRows: 'no key update',
  items: 'devices',
  keepsFilter: false,
  applyPortion,
}

type Planned = { item: BulkItem; changes: Change[] }
/** A device that changes, with the changes that are still to be made. */
type Due = Planned & { marks: Marks; left: Change[] }

async function applyPortion(work: PortionWork, items: readonly BulkItem[]): Promise<Map<number, ItemResult>> {
  const { tx } = work
  const planned = items.map(item => ({ item, changes: item.change as Change[] }))
  const names = await readNames(tx, planned)
  // Known before labels are locked, because a device that is skipped gets no empty property.
  const full = new Set(
    planned.flatMap(({ item, changes }) => (hasRoom(work, item.deviceId, changes) ? [] : [item.deviceId])),
  )
  const withRoom = planned.filter(({ item }) => !full.has(item.deviceId))
  const labels = await lockLabels(tx, labelled(planned), withNewLabels(withRoom, names))
  const results = new Map<number, ItemResult>()
  const due: Due[] = []
  const changed: BulkItem[] = []
  for (const { item, changes } of planned) {
    const { deviceId, position } = item
    const marks = { name: names.get(deviceId)?.name, labels: labels.get(deviceId) ?? {} }
    const left = changes.filter(({ label, after }) => valueIn(marks, label) !== after)
    if (left.length === 0) results.set(position, skipped('AlreadySet'))
    else if (left.some(({ label, before }) => valueIn(marks, label) !== before)) changed.push(item)
    else if (labelCountAfter(left, marks) > MAX_LABELS) results.set(position, skipped('TooManyLabels'))
    else if (full.has(deviceId)) results.set(position, skipped('OverLimit'))
    else due.push({ item, changes, marks, left })
  }
  for (const [position, past] of await pastChanges(tx, changed))
    results.set(position, skipped('ChangedMeanwhile', past))
  await changeNames(work, due, names)
  await changeLabels(work, due)
  await keepMade(tx, work.bulkActionId, due)
  for (const { item } of due) {
    results.set(item.position, { outcome: 'Succeeded' })
    work.changed('devices', { deviceId: item.deviceId })
    work.changed('properties', { deviceId: item.deviceId })
  }
  return results
}

const isLabel = ({ label }: Change): boolean => label !== undefined

/** Ids of the devices whose labels are to be changed, in the order in which labels are locked. */
function labelled(planned: readonly Planned[]): string[] {
  return planned
    .filter(({ changes }) => changes.some(isLabel))
    .map(({ item }) => item.deviceId)
    .toSorted()
}

/**
 * Ids of the devices that get labels and replace none, so they may have had none. Those that replace a label must have it. A device whose
 * name was changed meanwhile is skipped, and gets no empty property.
 */
function withNewLabels(planned: readonly Planned[], names: ReadonlyMap<string, Named>): string[] {
  return planned
    .filter(({ item, changes }) => {
      const ofLabels = changes.filter(isLabel)
      const { name } = names.get(item.deviceId) ?? {}
      return (
        ofLabels.length > 0 &&
        ofLabels.every(({ before, after }) => before === undefined && after !== undefined) &&
        changes.every(change => isLabel(change) || name === change.before || name === change.after)
      )
    })
    .map(({ item }) => item.deviceId)
}

type Named = { name: string | undefined; hostname: string | null }

/** Names of devices, whose rows are locked. */
async function readNames(tx: Tx, planned: readonly Planned[]): Promise<Map<string, Named>> {
  const rows = await tx
    .selectFrom('device')
    .where(sql<boolean>`device_id = any (${planned.map(({ item }) => item.deviceId)}::text[])`)
    .select(['device_id', 'name', 'hostname'])
    .execute()
  return new Map(rows.map(row => [row.device_id, { name: row.name ?? undefined, hostname: row.hostname }]))
}

/** Charges the labels to the budget of the device, like `devices_SetLabels`. */
function hasRoom(
  { writeBudgets, organizationId, projectId }: PortionWork,
  deviceId: string,
  changes: readonly Change[],
): boolean {
  const set = changes.flatMap(({ label, after }) =>
    label === undefined || after === undefined ? [] : [[label, after]],
  )
  if (set.length === 0) return true
  const sizes = [Buffer.byteLength(JSON.stringify(Object.fromEntries(set)))]
  try {
    writeBudgets.take(
      { organizationId, projectId, deviceId },
      { kind: 'property', sizes, isByOtherCaller: true },
    )
    return true
  } catch (error) {
    if (error instanceof ActionError) return false
    throw error
  }
}

async function changeNames(
  { tx, events, projectId }: Pick<CommandTransaction, 'tx' | 'events'> & { projectId: string },
  due: readonly Due[],
  names: ReadonlyMap<string, Named>,
): Promise<void> {
  const renamed = due.flatMap(({ item, left }) => {
    const change = left.find(one => !isLabel(one))
    return change ? [{ deviceId: item.deviceId, ...change }] : []
  })
  if (renamed.length === 0) return
  const keys = renamed.map(({ deviceId, after }) => nameKey(after ?? names.get(deviceId)?.hostname ?? ''))
  await sql`
    update device d set name = i.name, name_key = i.name_key
      from unnest(${renamed.map(({ deviceId }) => deviceId)}::text[], ${renamed.map(({ after }) => after ?? null)}::text[], ${keys}::text[])
           as i (device_id, name, name_key)
     where d.device_id = i.device_id`.execute(tx)
  await events.emitEach(
    'devices_NameChanged',
    renamed.map(({ deviceId, before, after }) => ({
      data: { projectId, deviceId, ...(after !== undefined && { name: after }) },
      old: { name: before },
    })),
  )
}

async function changeLabels(
  { tx, caller, events, projectId }: PortionWork,
  due: readonly Due[],
): Promise<void> {
  const texts = new Map<string, LabelValues>()
  const made: { projectId: string; deviceId: string; changes: LabelChange[] }[] = []
  for (const { item, marks, left } of due) {
    const set = left.flatMap(({ label, after }) =>
      isLabel({ label }) && after !== undefined ? [[label!, after]] : [],
    )
    const remove = left.flatMap(({ label, after }) =>
      label !== undefined && after === undefined ? [label] : [],
    )
    const { labels, changes } = changedLabels(marks.labels, { set: Object.fromEntries(set), remove })
    if (changes.length === 0) continue
    texts.set(item.deviceId, labels)
    made.push({ projectId, deviceId: item.deviceId, changes })
  }
  if (texts.size === 0) return
  await writeLabels(tx, caller, texts)
  await emitLabelChanges(events, made)
}

/** Stores what was changed where somebody else had made a part of it, so that undo leaves that part alone. */
async function keepMade(tx: Tx, bulkActionId: string, due: readonly Due[]): Promise<void> {
  const rows = due
    .filter(({ changes, left }) => left.length < changes.length)
    .map(({ item, left }) => ({ position: item.position, change: left }))
  if (rows.length === 0) return
  await sql`
    update bulk_action_item i set change = m.change
      from json_to_recordset(${JSON.stringify(rows)}::json) as m (position int, change jsonb)
     where i.bulk_action_id = ${bulkActionId} and i.position = m.position`.execute(tx)
}

/** Actor and time of the last change of labels or names of items, by position, while the audit log has them. */
async function pastChanges(
  tx: Tx,
  items: readonly BulkItem[],
): Promise<Map<number, { actor: unknown; at: Date } | undefined>> {
  if (items.length === 0) return new Map()
  const { rows } = await sql<{ position: number; actor: unknown; at: Date | null }>`
    select i.position, past.actor, past.at
      from unnest(${items.map(({ position }) => position)}::int[], ${items.map(({ deviceId }) => deviceId)}::text[]) as i (position, device_id)
      left join lateral (
        select e.actor, e.created_at as at from audit_event e
         where e.device_id = i.device_id and e.event in ('devices_LabelSet', 'devices_LabelRemoved', 'devices_NameChanged')
         order by e.created_at desc limit 1
      ) past on true`.execute(tx)
  return new Map(rows.map(({ position, actor, at }) => [position, at === null ? undefined : { actor, at }]))
}
