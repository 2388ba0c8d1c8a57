import { sql } from 'kysely'
import type { Db } from '../database/connection.ts'
import { jobHandler } from './handler.ts'

/** Devices at a time, and rows of theirs in one statement: each is over long before its time limit. */
const DEVICES = 100
const ROWS = 5_000
/** How long after a deletion the last event may come that began to be stored before it, in minutes: a statement has half of one. */
const SETTLED_MINUTES = 5

/** Removes events and property changes of deleted devices, and forgets a device once nothing more of it can come. */
export const devices_SweepHistory = jobHandler('devices_SweepHistory', async ({ db }, _data, { signal }) => {
  for (let after = ''; ; ) {
    const removals = await db
      .selectFrom('device_removal')
      .where('device_id', '>', after)
      .orderBy('device_id')
      .limit(DEVICES)
      .select([
        'device_id',
        sql<boolean>`removed_at < now() - make_interval(mins => ${SETTLED_MINUTES})`.as('is_settled'),
      ])
      .execute()
    if (removals.length === 0) return
    const deviceIds = removals.map(({ device_id }) => device_id)
    for (const remove of [removeEvents, removePropertyChanges])
      while ((await remove(db, deviceIds)) > 0) signal.throwIfAborted()
    const settled = removals.filter(({ is_settled }) => is_settled).map(({ device_id }) => device_id)
    if (settled.length > 0) await db.deleteFrom('device_removal').where('device_id', 'in', settled).execute()
    after = deviceIds.at(-1)!
  }
})

async function removeEvents(db: Db, deviceIds: string[]): Promise<bigint> {
  const { numAffectedRows } = await sql`
    delete from device_event where (device_id, event_id, event_day) in (
      select device_id, event_id, event_day from device_event where device_id = any (${deviceIds}) limit ${ROWS})`.execute(
    db,
  )
  return numAffectedRows!
}

async function removePropertyChanges(db: Db, deviceIds: string[]): Promise<bigint> {
  const { numAffectedRows } = await sql`
    delete from device_property_change where (device_id, name, changed_at) in (
      select device_id, name, changed_at from device_property_change where device_id = any (${deviceIds}) limit ${ROWS})`.execute(
    db,
  )
  return numAffectedRows!
}
