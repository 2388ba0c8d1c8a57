import { sql } from 'kysely'
import type pg from 'pg'
import { daysAgo, type JobContext } from '../../platform/jobs/define-job.ts'

/** Days for which the result of a bulk action is kept. The audit log keeps its events. */
const KEEP_DAYS = 30
/** Days for which a preview of a bulk action is kept if it is never started. */
const KEEP_PREVIEWS_DAYS = 1

/** Removes old results and previews of bulk actions. */
export async function removeOldBulkActions({ db }: JobContext): Promise<void> {
  await sql`
    delete from bulk_action
     where created_at < ${daysAgo(KEEP_DAYS)}
        or status = 'Prepared' and created_at < ${daysAgo(KEEP_PREVIEWS_DAYS)}`.execute(db)
}

/** Cancels the unfinished bulk actions of a restored database. A database of before bulk actions has none. */
export async function cancelUnfinished(client: pg.ClientBase): Promise<string[]> {
  const { rows: tables } = await client.query("select from pg_class where oid = to_regclass('bulk_action')")
  if (tables.length === 0) return []
  const { rows } = await client.query<{ id: string }>(
    `update bulk_action set status = 'Cancelled', ended_at = now(), due_at = null
      where status in ('Waiting', 'Running') returning bulk_action_id as id`,
  )
  return rows.map(({ id }) => id)
}
