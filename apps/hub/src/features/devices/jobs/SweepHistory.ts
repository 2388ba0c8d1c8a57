import { sql } from 'kysely'
import type { Db } from '../../../platform/database/client/connection.ts'
import { defineJob, RECURRING } from '../../../platform/jobs/define-job.ts'

// The batch sizes keep each statement far below the statement timeout, and its locks short.
/** Number of rows of `project_removal` or `device_removal` that are processed together. */
const REMOVALS = 100
/** Number of devices per delete statement. */
const DEVICES = 200
/** Number of events or property changes per delete statement. */
const ROWS = 5_000
/**
 * Minutes after a deletion during which further rows may be stored by statements that began before the deletion. A statement ends
 * within 30 s.
 */
const SETTLED_MINUTES = 5

type Removal = { id: string; is_settled: boolean }

/** Tables that grow with a device but have no foreign key to it, with the columns that identify a row. */
const HISTORIES = [
  { table: 'device_event', key: sql`device_id, event_id, event_day` },
  { table: 'device_property_change', key: sql`device_id, name, changed_at` },
]

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    devices_SweepHistory: Record<never, never>
  }
}

/** Removes devices of deleted projects, and events and property changes of deleted devices. */
export const devices_SweepHistory = defineJob({
  name: 'devices_SweepHistory',
  // Deleting the devices and events of a large project takes minutes.
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: 10 * 60 },
  run: async ({ db }, _data, { signal }) => {
    await forEachRemoval(db, 'project', async projectIds => {
      while ((await removeDevices(db, projectIds)) > 0) signal.throwIfAborted()
    })
    await forEachRemoval(db, 'device', async deviceIds => {
      for (const history of HISTORIES)
        while ((await removeHistory(db, history, deviceIds)) > 0) signal.throwIfAborted()
    })
  },
})

/**
 * Calls `sweep` with the ids recorded in `project_removal` or `device_removal`, in batches. A record is removed after
 * `SETTLED_MINUTES`, when no further row of the deleted project or device can appear.
 */
async function forEachRemoval(
  db: Db,
  of: 'project' | 'device',
  sweep: (ids: string[]) => Promise<void>,
): Promise<void> {
  const table = sql.table(`${of}_removal`)
  const id = sql.ref(`${of}_id`)
  for (let after = ''; ; ) {
    const { rows: removals } = await sql<Removal>`
      select ${id} as id, removed_at < now() - make_interval(mins => ${SETTLED_MINUTES}) as is_settled
        from ${table} where ${id} > ${after} order by ${id} limit ${REMOVALS}`.execute(db)
    if (removals.length === 0) return
    await sweep(removals.map(removal => removal.id))
    const settled = removals.filter(({ is_settled }) => is_settled).map(removal => removal.id)
    if (settled.length > 0) await sql`delete from ${table} where ${id} = any (${settled})`.execute(db)
    after = removals.at(-1)!.id
  }
}

/** Removes up to `DEVICES` devices of these projects; resolves to the number removed. */
async function removeDevices(db: Db, projectIds: string[]): Promise<bigint> {
  const { numAffectedRows } = await sql`
    delete from device where device_id in (
      select device_id from device where project_id = any (${projectIds}) limit ${DEVICES})`.execute(db)
  return numAffectedRows!
}

/** Removes up to `ROWS` rows of these devices; resolves to the number removed. */
async function removeHistory(
  db: Db,
  { table, key }: (typeof HISTORIES)[number],
  deviceIds: string[],
): Promise<bigint> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where (${key}) in (
      select ${key} from ${sql.table(table)} where device_id = any (${deviceIds}) limit ${ROWS})`.execute(db)
  return numAffectedRows!
}
