import { sql } from 'kysely'
import type { Db } from '../database/connection.ts'
import { jobHandler } from './handler.ts'

/** Devices at a time, and rows of theirs in one statement: each is over long before its time limit. */
const DEVICES = 100
const ROWS = 5_000
/** How long after a deletion the last event may come that began to be stored before it, in minutes: a statement has half of one. */
const SETTLED_MINUTES = 5

type History = (typeof HISTORIES)[number]

/** What grows with a device and has no foreign key, with what finds a row in its partition. */
const HISTORIES = [
  { table: 'device_event', key: sql`device_id, event_id, event_day` },
  { table: 'device_property_change', key: sql`device_id, name, changed_at` },
]

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
    for (const history of HISTORIES)
      while ((await remove(db, history, deviceIds)) > 0) signal.throwIfAborted()
    const settled = removals.filter(({ is_settled }) => is_settled).map(({ device_id }) => device_id)
    if (settled.length > 0) await db.deleteFrom('device_removal').where('device_id', 'in', settled).execute()
    after = deviceIds.at(-1)!
  }
})

/** Removes some rows of these devices; resolves to how many. */
async function remove(db: Db, { table, key }: History, deviceIds: string[]): Promise<bigint> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where (${key}) in (
      select ${key} from ${sql.table(table)} where device_id = any (${deviceIds}) limit ${ROWS})`.execute(db)
  return numAffectedRows!
}
