import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'
import { metadataOf } from '../metadata.ts'
import { filesOf } from '../repository-files.ts'

/** Returns name, kind, version count, metadata and files of a package. */
export const repositories_GetPackageDetails = handler(
  'repositories_GetPackageDetails',
  async ({ db, scope }, { packageId }) => {
    const row = await db
      .selectFrom('package as p')
      .where('p.package_id', '=', packageId)
      .select([
        'p.repository_id',
        'p.name',
        'p.kind',
        metadataOf('p.metadata').as('metadata'),
        sql<number>`(select count(*) from package_version v where v.package_id = p.package_id)`.as(
          'version_count',
        ),
      ])
      .executeTakeFirstOrThrow()
    return {
      packageId,
      repositoryId: row.repository_id,
      name: row.name,
      kind: row.kind ?? undefined,
      versionCount: row.version_count,
      metadata: row.metadata,
      assets: await filesOf(db, { of: 'package', id: packageId }, scope),
    }
  },
)
