import { sql } from 'kysely'
import type { Db } from '../../client/connection.ts'
import { OTA_STATUS } from '../devices/device-updates.ts'
import { HAS_FAILED, matchedSoftware, REPORT, WORD } from './reported-software.ts'

/** Maximum number of reasons that are listed, and of projects and versions of each. */
const MAX_REASONS = 50
const MAX_PROJECTS = 10
const MAX_VERSIONS = 3

type Share<Key extends string> = Record<Key, string> & { deviceCount: number }

/** Devices that failed to install a version with the same error. */
type FailureReason = {
  error: string | null
  devices: number
  max_failure_count: number | null
  last_reported_at: Date | null
  projects: Share<'projectId'>[]
  versions: Share<'version'>[]
}

/** Reasons for which devices failed to install a version, most devices first, and the sums of the reasons that are not listed. */
export type UpdateFailures = { reasons: FailureReason[]; otherReasons: number; otherDevices: number }

/** Groups the devices of projects that failed to install a version, and do not run it, by error. */
export async function readFailures(
  db: Db,
  projectIds: readonly string[],
  versionId: string,
): Promise<UpdateFailures> {
  const reports = sql`
    select d.project_id, ${REPORT}, u.device_id, u.error, u.failure_count
      from device_update u join device d using (device_id)
     where ${HAS_FAILED} and d.project_id = any (${projectIds}::text[])
       and u.target_version = (select ${WORD} from package_version v where v.version_id = ${versionId})`
  const { rows } = await sql<FailureReason & { place: number; reasons: number; all_devices: number }>`
    with ${matchedSoftware(projectIds, reports)},
    failed as materialized (select * from matched where aim_id = ${versionId}),
    reason as (
      select row_number() over (order by count(*) desc, error) as place, count(*) over () as reasons,
             sum(count(*)) over ()::bigint as all_devices, error, count(*) as devices, max(failure_count) as max_failure_count
        from failed group by error order by 1 limit ${MAX_REASONS}
    )
    select r.*, (
             select max(p.last_updated) from failed f join device_property p on p.device_id = f.device_id and p.name = ${OTA_STATUS}
              where f.error is not distinct from r.error) as last_reported_at,
           (select coalesce(json_agg(s), '[]') from (
              select project_id as "projectId", count(*) as "deviceCount" from failed f
               where f.error is not distinct from r.error group by 1 order by 2 desc, 1 limit ${MAX_PROJECTS}) s)::jsonb as projects,
           (select coalesce(json_agg(s), '[]') from (
              select word as version, count(*) as "deviceCount" from failed f
               where f.error is not distinct from r.error and word is not null
               group by 1 order by 2 desc, 1 limit ${MAX_VERSIONS}) s)::jsonb as versions
      from reason r order by r.place`.execute(db)
  const listed = rows.reduce((sum, row) => sum + row.devices, 0)
  return {
    reasons: rows,
    otherReasons: (rows[0]?.reasons ?? 0) - rows.length,
    otherDevices: (rows[0]?.all_devices ?? 0) - listed,
  }
}
