import { sql } from 'kysely'
import { OTA_STATUS } from '../../link/telemetry/device-updates.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { HAS_FAILED, matchedSoftware, REPORT, WORD } from './reported-software.ts'

/** Maximum number of reasons that are listed. */
const MAX_REASONS = 50
/** Maximum number of projects that are listed for a reason. */
const MAX_PROJECTS = 10
/** Maximum number of versions that are listed for a reason. */
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
  // Without "offset 0" PostgreSQL would read all devices of the projects to find the few whose update failed.
  const reports = sql`
    select d.project_id, ${REPORT}, u.device_id, u.error, u.failure_count
      from device_update u
     cross join lateral (select project_id from device where device_id = u.device_id offset 0) d
     where ${HAS_FAILED} and d.project_id = any (${projectIds}::text[])
       and u.target_version = (select ${WORD} from package_version v where v.version_id = ${versionId})`
  const { rows } = await sql<FailureReason & { place: number; reasons: number; all_devices: number }>`
    with ${matchedSoftware(projectIds, reports)},
    failed as materialized (select *, coalesce('=' || error, '') as reason_key from matched where aim_id = ${versionId}),
    reason as (
      select row_number() over (order by count(*) desc, reason_key) as place, count(*) over () as reasons,
             sum(count(*)) over ()::bigint as all_devices, reason_key, min(error) as error, count(*) as devices,
             max(failure_count) as max_failure_count
        from failed group by reason_key order by 1 limit ${MAX_REASONS}
    ),
    listed as materialized (select r.place, f.device_id, f.project_id, f.word from failed f join reason r using (reason_key)),
    last as (
      select l.place, max(p.last_updated) as last_reported_at
        from listed l join device_property p on p.device_id = l.device_id and p.name = ${OTA_STATUS} group by 1
    ),
    projects_of as (
      select place, project_id, count(*) as devices, row_number() over (partition by place order by count(*) desc, project_id) as rank
        from listed group by 1, 2
    ),
    words_of as (
      select place, word, count(*) as devices, row_number() over (partition by place order by count(*) desc, word) as rank
        from listed where word is not null group by 1, 2
    )
    select r.*, l.last_reported_at,
           (select coalesce(json_agg(json_build_object('projectId', p.project_id, 'deviceCount', p.devices) order by p.rank), '[]')
              from projects_of p where p.place = r.place and p.rank <= ${MAX_PROJECTS})::jsonb as projects,
           (select coalesce(json_agg(json_build_object('version', v.word, 'deviceCount', v.devices) order by v.rank), '[]')
              from words_of v where v.place = r.place and v.rank <= ${MAX_VERSIONS})::jsonb as versions
      from reason r left join last l using (place) order by r.place`.execute(db)
  const listed = rows.reduce((sum, row) => sum + row.devices, 0)
  return {
    reasons: rows,
    otherReasons: (rows[0]?.reasons ?? 0) - rows.length,
    otherDevices: (rows[0]?.all_devices ?? 0) - listed,
  }
}
