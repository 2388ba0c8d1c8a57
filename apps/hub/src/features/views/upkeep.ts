import { sql } from 'kysely'
import { daysAgo, type JobContext } from '../../platform/jobs/define-job.ts'

/** Days for which a link to a deleted view says who has deleted it. */
const KEEP_DAYS = 90

/** Removes views that were deleted long ago, and private views whose owner is gone. */
export async function removeOldViews({ db }: JobContext): Promise<void> {
  await sql`
    delete from device_view
     where deleted_at < ${daysAgo(KEEP_DAYS)} or owner_id is null and not is_shared`.execute(db)
}
