import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { type LatestVersion, latestVersions } from '../../software/index.ts'

const SORTS = {
  name: { by: sql`p.name`, type: 'text' },
  createdAt: { by: sql`p.created_at`, type: 'timestamptz' },
  // The time of the newest version, as the console shows it.
  latest: {
    by: sql`coalesce((select max(v.created_at) from package_version v where v.package_id = p.package_id), p.created_at)`,
    type: 'timestamptz',
  },
} as const

/** Lists the packages of a repository, by default sorted by name. */
export const repositories_QueryPackages = handler(
  'repositories_QueryPackages',
  async ({ db }, { repositoryId, filter, ...page }) => {
    const query = db
      .selectFrom('package as p')
      .where('p.repository_id', '=', repositoryId)
      .where(matchesText(filter?.text, sql`p.name`, sql`p.package_id`))
      .select(['p.package_id', 'p.name', 'p.created_at', 'p.kind'])
    const { rows, ...rest } = await queryPage(
      query,
      { ...page, countTotal: filter?.text ? 'along' : true },
      SORTS,
      sql`p.package_id`,
      'name',
    )
    const ids = rows.map(row => row.package_id)
    const versions = await latestVersions(db, ids)
    return {
      packages: rows.map(row => ({
        packageId: row.package_id,
        name: row.name,
        createdAt: wireTime(row.created_at),
        kind: row.kind ?? undefined,
        ...shownVersions(versions.get(row.package_id)),
      })),
      ...rest,
    }
  },
)

function shownVersions(versions: LatestVersion | undefined) {
  return (
    versions && {
      latest: { ...versions.latest, createdAt: wireTime(versions.latest.createdAt) },
      stable: versions.stable,
    }
  )
}
