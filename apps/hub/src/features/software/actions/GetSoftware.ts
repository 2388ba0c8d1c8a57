import type { HandlerOutput } from '@muster/actions'
import { sql } from 'kysely'
import { tryBrief } from '../../../platform/database/client/brief.ts'
import type { Db } from '../../../platform/database/client/connection.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { latestVersions, versionsById } from '../releases.ts'
import {
  countSoftware,
  hasVersion,
  keepSoftware,
  keptSoftware,
  MAX_VERSIONS,
  type SoftwareCounts,
  type VersionCount,
} from '../software-counts.ts'

type Output = HandlerOutput<'projects_GetSoftware'>
type Package = Output['packages'][number]
type Doing = Record<VersionCount['doing'], number>

/** Maximum number of packages in the answer. */
const MAX_PACKAGES = 100

/**
 * Returns the versions that the devices of a project report, by package. The devices of a version are counted in three groups: devices
 * that only run it, devices that install another version, and devices that failed to install another version. Counts are cached for 2 s.
 */
export const projects_GetSoftware = handler('projects_GetSoftware', async ({ db, signal }, { projectId }) => {
  const kept = keptSoftware(db, [projectId]).get(projectId)
  const counts = kept ?? (await countWithin(db, signal, projectId))
  const { packages, packageCount } = await linkedPackages(db, projectId, counts)
  const latest = await latestVersions(
    db,
    packages.map(({ packageId }) => packageId),
  )
  const rows = counts?.versions ?? []
  const versions = await versionsById(db, [...new Set(rows.flatMap(row => row.versionId ?? []))])
  const others = rows.filter(row => row.isOther)
  return {
    projectId,
    deviceCount: counts && rows.reduce((sum, { devices }) => sum + devices, 0),
    unknown: counts && rows.filter(row => !hasVersion(row)).reduce((sum, { devices }) => sum + devices, 0),
    failed:
      counts && rows.filter(({ doing }) => doing === 'failed').reduce((sum, { devices }) => sum + devices, 0),
    packages: packages.map(({ deviceCount, ...named }): Package => {
      const { packageId } = named
      const own = rows.filter(row => row.packageId === packageId)
      const known = [...groupBy(own, row => row.versionId)].flatMap(([versionId, group]) => {
        const version = versions.get(versionId)
        return version ? [{ ...version, createdAt: wireTime(version.createdAt), ...doingOf(group) }] : []
      })
      known.sort((a, b) => b.createdAt.localeCompare(a.createdAt))
      const newest = latest.get(packageId)
      return {
        ...named,
        deviceCount: Number(deviceCount),
        versions: known.slice(0, MAX_VERSIONS),
        otherVersions:
          known.length > MAX_VERSIONS
            ? known.slice(MAX_VERSIONS).reduce(added, { running: 0, updating: 0, failed: 0 })
            : undefined,
        reported: reportedOf(own),
        latest: newest && {
          versionId: newest.latest.versionId,
          name: newest.latest.name,
          createdAt: wireTime(newest.latest.createdAt),
        },
        stable: newest?.stable,
      }
    }),
    packageCount,
    reported: reportedOf(rows.filter(row => row.packageId === null)),
    otherReported: others.length > 0 ? doingOf(others) : undefined,
    tookTooLong: counts ? undefined : (true as const),
    isKept: kept ? (true as const) : undefined,
  }
})

/** Counts the devices of a project by the software that they report. Undefined if the count takes longer than 2 s. */
async function countWithin(
  db: Db,
  signal: AbortSignal,
  projectId: string,
): Promise<SoftwareCounts | undefined> {
  const counted = await tryBrief(db, signal, tx => countSoftware(tx, [projectId]))
  if (counted) keepSoftware(db, counted)
  return counted?.get(projectId)
}

/** Packages of the linked repositories of a project, most devices first, with the numbers of devices that report a version of each. */
async function linkedPackages(db: Db, projectId: string, counts: SoftwareCounts | undefined) {
  const devices = groupBy(counts?.versions.filter(hasVersion) ?? [], row => row.packageId)
  const sums = [...devices].map(
    ([id, rows]) => [id, rows.reduce((sum, row) => sum + row.devices, 0)] as const,
  )
  const { rows } = await sql<{
    packageId: string
    repositoryId: string
    name: string
    repositoryName: string
    deviceCount: number
    packageCount: number
  }>`
    select k.package_id as "packageId", r.repository_id as "repositoryId", k.name, r.display_name as "repositoryName",
           coalesce(c.devices, 0) as "deviceCount", count(*) over () as "packageCount"
      from project_repository l
      join repository r using (repository_id)
      join package k using (repository_id)
      left join unnest(${sums.map(([id]) => id)}::text[], ${sums.map(([, sum]) => sum)}::bigint[]) as c (package_id, devices)
        using (package_id)
     where l.project_id = ${projectId}
     order by 5 desc, k.name, k.package_id limit ${MAX_PACKAGES}`.execute(db)
  return {
    packages: rows.map(({ packageCount: _, ...row }) => row),
    packageCount: rows[0]?.packageCount ?? 0,
  }
}

function groupBy(rows: readonly VersionCount[], key: (row: VersionCount) => string | null) {
  const groups = new Map<string, VersionCount[]>()
  for (const row of rows) {
    const of = key(row)
    if (of === null) continue
    const group = groups.get(of)
    if (group) group.push(row)
    else groups.set(of, [row])
  }
  return groups
}

function doingOf(rows: readonly VersionCount[]): Doing {
  const doing = { running: 0, updating: 0, failed: 0 }
  for (const row of rows) doing[row.doing] += row.devices
  return doing
}

function added(sum: Doing, { running, updating, failed }: Doing): Doing {
  return { running: sum.running + running, updating: sum.updating + updating, failed: sum.failed + failed }
}

/** Versions that devices report but the hub does not know, most devices first. */
function reportedOf(rows: readonly VersionCount[]) {
  const devices = ({ running, updating, failed }: Doing) => running + updating + failed
  return [...groupBy(rows, row => row.reported)]
    .map(([version, group]) => ({ version, ...doingOf(group) }))
    .sort((a, b) => devices(b) - devices(a) || a.version.localeCompare(b.version))
}
