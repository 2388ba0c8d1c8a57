import { type BulkReason, MAX_NAME_LENGTH, Name } from '@muster/actions'
import { MAX_LABELS, nameByPattern, type readNamePattern } from '@muster/predicates'
import { sql } from 'kysely'
import type { Tx } from '../../../platform/database/client/connection.ts'
import { type LabelValues, labelsOfDevice } from '../../labels/index.ts'
import { type Change, changesTo, labelCountAfter, type WantedMarks } from './change.ts'

/** Devices that one statement reads and one statement stores. */
const PORTION = 5_000

/** A device as a plan sees it. */
export type PlannedDevice = {
  deviceId: string
  name: string | undefined
  hostname: string | undefined
  labels: LabelValues
}

/** What is planned for a device: its changes, or why it does not change. */
export type Plan = { changes: Change[] } | { reason: BulkReason }

/** A planned device with its position in the bulk action, and its row in an import. */
export type PlannedItem = { position: number; row?: number; device: PlannedDevice; plan: Plan }

/** Plans what a device shall have. */
export function planOf(wanted: WantedMarks, device: PlannedDevice): Plan {
  const changes = changesTo(wanted, device)
  if (changes.length === 0) return { reason: 'AlreadySet' }
  return labelCountAfter(changes, device) > MAX_LABELS ? { reason: 'TooManyLabels' } : { changes }
}

/** Plans a name by a pattern. */
export function planName(
  pattern: ReturnType<typeof readNamePattern>,
  device: PlannedDevice,
  index: number,
): Plan {
  const text = nameByPattern(pattern, { ...device, index })
  if (text === undefined) return { reason: 'ValueMissing' }
  const { data: name } = Name.safeParse(text)
  if (name === undefined)
    return { reason: [...text.trim()].length > MAX_NAME_LENGTH ? 'NameTooLong' : 'NameInvalid' }
  return planOf({ name }, device)
}

/** Reads the devices of a project among some ids, in any order. */
export async function readDevices(
  tx: Tx,
  projectId: string,
  deviceIds: readonly string[],
): Promise<Map<string, PlannedDevice>> {
  const devices = new Map<string, PlannedDevice>()
  for (let from = 0; from < deviceIds.length; from += PORTION) {
    const rows = await tx
      .selectFrom('device as d')
      .where(sql<boolean>`d.device_id = any (${deviceIds.slice(from, from + PORTION)}::text[])`)
      .where('d.project_id', '=', projectId)
      .select(['d.device_id', 'd.name', 'd.hostname', labelsOfDevice.as('labels')])
      .execute()
    for (const row of rows)
      devices.set(row.device_id, {
        deviceId: row.device_id,
        name: row.name ?? undefined,
        hostname: row.hostname || undefined,
        labels: row.labels ?? {},
      })
  }
  return devices
}

/** Stores planned items. Those that do not change are skipped already. */
export async function storeItems(
  tx: Tx,
  bulkActionId: string,
  items: readonly PlannedItem[],
): Promise<{ itemCount: number; skippedCount: number }> {
  for (let from = 0; from < items.length; from += PORTION) {
    const rows = items.slice(from, from + PORTION).map(({ position, row, device, plan }) => ({
      position,
      row_number: row,
      device_id: device.deviceId,
      name: device.name,
      hostname: device.hostname,
      ...('reason' in plan ? { reason: plan.reason, outcome: 'Skipped' } : { change: plan.changes }),
    }))
    await sql`
      insert into bulk_action_item (bulk_action_id, position, row_number, device_id, name, hostname, outcome, reason, change)
      select ${bulkActionId}, i.position, i.row_number, i.device_id, i.name, i.hostname, i.outcome, i.reason, i.change
        from json_to_recordset(${JSON.stringify(rows)}::json)
             as i (position int, row_number int, device_id text, name text, hostname text, outcome text, reason text, change jsonb)`.execute(
      tx,
    )
  }
  return { itemCount: items.length, skippedCount: items.filter(({ plan }) => 'reason' in plan).length }
}
