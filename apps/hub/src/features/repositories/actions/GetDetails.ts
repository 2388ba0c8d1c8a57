import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'
import { repositoryNamesOf } from '../repositories.ts'

/** Returns names and visibility of a repository, and how many packages, versions and blobs it has. */
export const repositories_GetDetails = handler(
  'repositories_GetDetails',
  async ({ db }, { repositoryId }) => {
    const row = await db
      .selectFrom('repository as r')
      .where('r.repository_id', '=', repositoryId)
      .select([
        'r.repository_id',
        'r.organization_id',
        'r.display_name',
        'r.slug',
        'r.visibility',
        sql<number>`(select count(*) from package p where p.repository_id = r.repository_id)`.as(
          'package_count',
        ),
        sql<number>`(select count(*) from package p join package_version v using (package_id)
                      where p.repository_id = r.repository_id)`.as('version_count'),
        sql<number>`(select count(*) from asset a where a.repository_id = r.repository_id)`.as('asset_count'),
      ])
      .executeTakeFirstOrThrow()
    return {
      repositoryId: row.repository_id,
      organizationId: row.organization_id,
      ...repositoryNamesOf(row),
      visibility: row.visibility as 'Public' | 'Private',
      packageCount: row.package_count,
      versionCount: row.version_count,
      assetCount: row.asset_count,
    }
  },
)
