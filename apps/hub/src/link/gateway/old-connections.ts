import { sql } from 'kysely'
import { daysAgo, type RemoveOld } from '../../platform/jobs/define-job.ts'

/** Devices per delete statement. */
const DEVICES_PER_STATEMENT = 100

/** Removes connections that ended before the retention of events, except for the last connection of each device. */
export const removeOldConnections: RemoveOld = async ({ db, eventRetentionDays: days }, { signal }) => {
  for (let from = ''; ; ) {
    signal.throwIfAborted()
    const { rows } = await sql<{ last: string | null }>`
      with devices as (
        select device_id from device where device_id > ${from} order by device_id limit ${DEVICES_PER_STATEMENT}
      ), removed as (
        delete from device_connection c using devices d
         where c.device_id = d.device_id and c.connected_at < ${daysAgo(days)} and c.ended_at < ${daysAgo(days)}
           and exists (
             select from device_connection n where n.device_id = c.device_id and n.connected_at > c.connected_at
           )
      )
      select max(device_id) as last from devices`.execute(db)
    const last = rows[0]!.last
    if (last === null) return
    from = last
  }
}
