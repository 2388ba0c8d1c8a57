import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { KeptAnswers } from './kept-answers.ts'
import { matchedSoftware, REPORT } from './reported-software.ts'

/** Maximum number of versions per project that are listed although the hub does not know them. */
const MAX_REPORTED = 50
/** Maximum number of versions of a package that are listed for a project: the newest ones that devices run. */
export const MAX_VERSIONS = 200

/** Activity of a device's update script. */
type Doing = 'running' | 'updating' | 'failed'

/** Devices with the same version and activity. If `versionId` and `reported` are null, they report no version or an unlisted one. */
export type VersionCount = {
  packageId: string | null
  versionId: string | null
  /** The version that the devices report, if the hub does not know it. Null for a known version. */
  reported: string | null
  /** Whether the version is unknown and beyond `MAX_REPORTED`. */
  isOther: boolean
  /** Whether the devices report an update path (repository/package/tag) that names no package linked to their project. */
  isElsewhere: boolean
  doing: Doing
  devices: number
}
/** Devices that install or failed to install a version that they do not run. */
type AimCount = {
  packageId: string
  versionId: string
  doing: Doing
  hasVersion: boolean
  devices: number
}
/** Devices whose update path ends in a tag of a package. */
type FollowerCount = { packageId: string; tag: string; devices: number; connected: number }

/** Numbers of devices of a project by the version that they run, by the version that they try to install, and by the tag they follow. */
export type SoftwareCounts = { versions: VersionCount[]; aims: AimCount[]; followers: FollowerCount[] }

type Row = {
  project_id: string
  package_id: string | null
  version_id: string | null
  reported: string | null
  is_other: boolean | null
  is_elsewhere: boolean | null
  doing: Doing | null
  has_version: boolean | null
  tag: string | null
  kind: 'version' | 'aim' | 'tag'
  devices: number
  connected: number
}

const kept = new KeptAnswers<SoftwareCounts>()

/** Cached results of `countSoftware` by project, at most 2 s old. A project without a cached result is missing. */
export function keptSoftware(db: Db, projectIds: readonly string[]): Map<string, SoftwareCounts> {
  return new Map(
    projectIds.flatMap(projectId => {
      const counts = kept.find(db, projectId)
      return counts ? [[projectId, counts] as const] : []
    }),
  )
}

/** Caches results of `countSoftware` for 2 s. */
export function keepSoftware(db: Db, counts: ReadonlyMap<string, SoftwareCounts>): void {
  for (const [projectId, of] of counts) kept.keep(db, projectId, of)
}

/**
 * Sets parameters of PostgreSQL for a count, until the end of its transaction (bench `releases`). With the default `work_mem` of 4 MB, the
 * hash join of 100,000 devices spills to disk, and the count takes a third longer. Two processes count in three quarters of the time of one.
 * PostgreSQL expects as many groups as devices, so with its default cost of a row it would not use a second process.
 */
const SET_FOR_COUNT = sql`
  select set_config('work_mem', '32MB', true), set_config('max_parallel_workers_per_gather', '2', true),
         set_config('parallel_tuple_cost', '0', true)`

/** Common table expressions after `matchedSoftware`: `listed` has the versions that the hub does not know and lists nevertheless. */
const LISTED = sql`
    reported as (
      select project_id, package_id, word,
             row_number() over (partition by project_id order by sum(devices) desc, word, package_id) as place
        from matched where version_id is null and word is not null
       group by project_id, package_id, word
    ),
    listed as (
      select project_id, coalesce(package_id, '') as package_id, word from reported where place <= ${MAX_REPORTED}
    )`

/**
 * Query for the ids of the devices of a project whose version is not listed: an older version of a package, or without `packageId` a
 * version that the hub does not know.
 */
export function otherDevices(projectId: string, packageId: string | undefined): RawBuilder<unknown> {
  const reports = sql`
    select d.project_id, ${REPORT}, u.device_id, 1 as devices
      from device_update u join device d using (device_id) where d.project_id = ${projectId}`
  const matched = matchedSoftware([projectId], reports)
  if (packageId)
    return sql`
      with ${matched},
      ranked as (
        select v.version_id, row_number() over (order by v.created_at desc, v.version_id desc) as place
          from (select distinct version_id from matched where package_id = ${packageId}) r join package_version v using (version_id)
      )
      select m.device_id from matched m join ranked r using (version_id) where r.place > ${MAX_VERSIONS}`
  return sql`
    with ${matched}, ${LISTED}
    select m.device_id from matched m
      left join listed l on l.word = m.word and l.package_id = coalesce(m.package_id, '')
     where m.version_id is null and m.word is not null and l.word is null`
}

/** Counts the devices of projects by the software that they report. Reads one small row for each device, from `device_update`. */
export async function countSoftware(
  db: Db,
  projectIds: readonly string[],
): Promise<Map<string, SoftwareCounts>> {
  await SET_FOR_COUNT.execute(db)
  // Devices with equal reports are grouped before their reports are compared with packages and versions.
  const reports = sql`
    select u.project_id, ${REPORT}, u.devices, u.connected
      from (select d.project_id, u.path, u.current_version, u.target_version, u.state, min(u.failure_count) as failure_count,
                   count(*) as devices, count(*) filter (where d.is_connected) as connected
              from device d left join device_update u using (device_id)
             where d.project_id = any (${projectIds}::text[])
             group by d.project_id, u.path, u.current_version, u.target_version, u.state, u.failure_count > 0) u`
  const { rows } = await sql<Row>`
    with ${matchedSoftware(projectIds, reports)}, ${LISTED}
    select 'version' as kind, m.project_id, m.package_id, m.version_id, case when m.version_id is null then l.word end as reported,
           m.version_id is null and m.word is not null and l.word is null as is_other,
           m.has_path and m.package_id is null as is_elsewhere, m.doing, null::boolean as has_version, null as tag,
           sum(m.devices)::bigint as devices, 0::bigint as connected
      from matched m
      left join listed l
        on l.project_id = m.project_id and l.word = m.word and l.package_id = coalesce(m.package_id, '')
     group by 2, 3, 4, 5, 6, 7, 8
    union all
    select 'aim', project_id, package_id, aim_id, null, null, null, doing, word is not null, null, sum(devices)::bigint, 0
      from matched where aim_id is not null
     group by project_id, package_id, aim_id, doing, word is not null
    union all
    select 'tag', m.project_id, m.package_id, null, null, null, null, null, null, m.tag, sum(m.devices)::bigint,
           sum(m.connected)::bigint
      from matched m join package_tag t on t.package_id = m.package_id and t.tag = m.tag
     group by m.project_id, m.package_id, m.tag`.execute(db)
  const counts = new Map<string, SoftwareCounts>(
    projectIds.map(projectId => [projectId, { versions: [], aims: [], followers: [] }]),
  )
  for (const row of rows) add(counts.get(row.project_id)!, row)
  return counts
}

function add({ versions, aims, followers }: SoftwareCounts, row: Row): void {
  const { package_id: packageId, version_id: versionId, doing, devices, connected } = row
  if (row.kind === 'version')
    versions.push({
      packageId,
      versionId,
      reported: row.reported,
      isOther: row.is_other!,
      isElsewhere: row.is_elsewhere ?? false,
      doing: doing!,
      devices,
    })
  else if (row.kind === 'aim')
    aims.push({
      packageId: packageId!,
      versionId: versionId!,
      doing: doing!,
      hasVersion: row.has_version!,
      devices,
    })
  else followers.push({ packageId: packageId!, tag: row.tag!, devices, connected })
}

/** Whether devices report a version, listed or not. */
export function hasVersion({ versionId, reported, isOther }: VersionCount): boolean {
  return versionId !== null || reported !== null || isOther
}
