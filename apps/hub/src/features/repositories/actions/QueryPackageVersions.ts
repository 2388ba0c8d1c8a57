import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { tagsOf } from '../repository-tags.ts'

const SORTS = { createdAt: { by: sql`v.created_at`, type: 'timestamptz' } } as const

/** Lists the versions of a package with their tags, newest first. */
export const repositories_QueryPackageVersions = handler(
  'repositories_QueryPackageVersions',
  async ({ db }, { packageId, filter, ...page }) => {
    const query = db
      .selectFrom('package_version as v')
      .where('v.package_id', '=', packageId)
      .where(
        sql<boolean>`(${matchesText(filter?.text, sql`v.name`, sql`v.version_id`)} or v.version_id in (
          select t.version_id from package_tag t
           where t.package_id = ${packageId} and ${matchesText(filter?.text, sql`t.tag`)}))`,
      )
      .select(['v.version_id', 'v.created_at', 'v.name'])
    const { rows, ...rest } = await queryPage(
      query,
      { ...page, countTotal: filter?.text ? 'along' : true },
      SORTS,
      sql`v.version_id`,
      '-createdAt',
    )
    const tags = await tagsOf(
      db,
      packageId,
      rows.map(row => row.version_id),
    )
    return {
      versions: rows.map(row => ({
        versionId: row.version_id,
        createdAt: wireTime(row.created_at),
        name: row.name ?? undefined,
        tags: tags.get(row.version_id) ?? [],
      })),
      ...rest,
    }
  },
)
