import { sql } from 'kysely'
import { tryBrief } from '../../../platform/database/client/brief.ts'
import type { Db } from '../../../platform/database/client/connection.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { latestVersions } from '../releases.ts'
import {
  countSoftware,
  hasVersion,
  keepSoftware,
  keptSoftware,
  type SoftwareCounts,
} from '../software-counts.ts'
import { visibleProjects } from '../visible-projects.ts'

/** Maximum number of packages in the answer. Packages with the most devices come first. */
const MAX_PACKAGES = 500

/** Counts the devices that report packages of a repository, and the devices that run the latest version. Counts are cached for 2 s. */
export const repositories_QueryPackageUsage = handler(
  'repositories_QueryPackageUsage',
  async ({ db, signal, caller, scope }, { repositoryId }) => {
    const { projects, count: projectCount } = await visibleProjects(db, caller, scope)
    const projectIds = projects.map(({ projectId }) => projectId)
    const kept = keptSoftware(db, projectIds)
    const missing = projectIds.filter(id => !kept.has(id))
    const counted =
      missing.length > 0
        ? await tryBrief(db, signal, tx => countSoftware(tx, missing))
        : new Map<string, SoftwareCounts>()
    if (!counted) return { packages: [], otherPackages: 0, projectCount, tookTooLong: true as const }
    keepSoftware(db, counted)
    const all = [...kept.values(), ...counted.values()]
    const aims = all.flatMap(of => of.aims)
    const devices = new Map<string, number>()
    const runs = new Map<string, number>()
    for (const row of all.flatMap(of => of.versions)) {
      if (row.packageId !== null && hasVersion(row)) add(devices, row.packageId, row.devices)
      if (row.versionId !== null) add(runs, row.versionId, row.devices)
    }
    const reported = await packagesOf(db, repositoryId, devices)
    const shown = reported.slice(0, MAX_PACKAGES)
    const latest = await latestVersions(
      db,
      shown.map(({ packageId }) => packageId),
    )
    return {
      packages: shown.map(({ packageId }) => {
        const newest = latest.get(packageId)?.latest
        return {
          packageId,
          deviceCount: devices.get(packageId)!,
          latest: newest && {
            versionId: newest.versionId,
            name: newest.name,
            runs: runs.get(newest.versionId) ?? 0,
            fails: aims
              .filter(row => row.versionId === newest.versionId && row.doing === 'failed')
              .reduce((sum, row) => sum + row.devices, 0),
          },
        }
      }),
      otherPackages: reported.length - shown.length,
      projectCount,
    }
  },
)

/** Packages of the repository among the packages that devices report (the keys of `devices`), most devices first. */
async function packagesOf(db: Db, repositoryId: string, devices: ReadonlyMap<string, number>) {
  const rows = await db
    .selectFrom('package')
    .where('repository_id', '=', repositoryId)
    .where(sql<boolean>`package_id = any (${[...devices.keys()]}::text[])`)
    .select('package_id as packageId')
    .execute()
  return rows.sort((a, b) => devices.get(b.packageId)! - devices.get(a.packageId)!)
}

function add(sums: Map<string, number>, key: string, count: number): void {
  sums.set(key, (sums.get(key) ?? 0) + count)
}
