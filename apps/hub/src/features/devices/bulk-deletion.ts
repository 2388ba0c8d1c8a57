import { actions, BULK_UNDO_SECS } from '@muster/actions'
import { sql } from 'kysely'
import { type BulkKind, skipped } from '../bulk/index.ts'
import { type DeviceFilter, matchesFilter } from './device-filter.ts'

/** Bulk action that deletes devices. A device that no longer matches the filter of the selection is skipped. */
export const bulkDeletion: BulkKind = {
  permission: actions.devices_StartBulkDeletion.permission,
  delaySecs: BULK_UNDO_SECS,
  // A device has up to thousands of rows that are deleted with it.
  portion: 50,
  locksRows: 'update',
  items: 'devices',
  keepsFilter: true,
  itemsOf: ({ projectId, ids }) => sql`
    select i.place, d.first_seen, null as certificate_id, d.device_id, d.name, nullif(d.hostname, '') as hostname,
           null as token_id, null as remote_address
      from unnest(${ids}::text[]) with ordinality as i (id, place) join device d on d.device_id = i.id
     where d.project_id = ${projectId}`,
  async applyPortion({ tx, projectId, filter, devices, events, changed, afterCommit }, items) {
    const ids = items.map(({ deviceId }) => deviceId)
    const matching = tx
      .selectFrom('device as d')
      .where(sql<boolean>`d.device_id = any (${ids}::text[])`)
      .where('d.project_id', '=', projectId)
      .where(await matchesFilter(tx, filter as DeviceFilter | undefined, projectId, ids))
      .select('d.device_id')
    const deleted = await tx
      .deleteFrom('device')
      .where('device_id', 'in', matching)
      .returning(['device_id', 'name', 'hostname'])
      .execute()
    const places = new Map(items.map(({ position, deviceId }) => [deviceId, position]))
    deleted.sort((a, b) => places.get(a.device_id)! - places.get(b.device_id)!)
    await events.emitEach(
      'devices_Deleted',
      deleted.map(({ device_id: deviceId, name, hostname }) => ({
        data: { deviceId, projectId },
        old: { name: name ?? undefined, hostname: hostname || undefined },
      })),
    )
    const gone = new Set(deleted.map(({ device_id: deviceId }) => deviceId))
    for (const deviceId of gone) changed('devices', { deviceId })
    const rights = [...gone].map(deviceId => ({ deviceId }))
    afterCommit(() => devices.endRights(rights, 'this device was deleted'))
    return new Map(
      items.map(({ position, deviceId }) => [
        position,
        gone.has(deviceId) ? { outcome: 'Succeeded' as const } : skipped('NoLongerMatches'),
      ]),
    )
  },
  onEnd: enqueue => enqueue('devices_SweepHistory', {}),
}
