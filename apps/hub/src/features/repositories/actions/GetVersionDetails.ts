import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { metadataOf } from '../metadata.ts'
import { filesOf } from '../repository-files.ts'
import { tagsOf } from '../repository-tags.ts'

/** Returns files, tags and metadata of a version. */
export const repositories_GetVersionDetails = handler(
  'repositories_GetVersionDetails',
  async ({ db, scope }, { versionId }) => {
    const row = await db
      .selectFrom('package_version as v')
      .innerJoin('package as p', 'p.package_id', 'v.package_id')
      .where('v.version_id', '=', versionId)
      .select([
        'p.repository_id',
        'p.package_id',
        'v.created_at',
        'v.name',
        metadataOf('v.metadata').as('metadata'),
      ])
      .executeTakeFirstOrThrow()
    return {
      versionId,
      repositoryId: row.repository_id,
      packageId: row.package_id,
      createdAt: wireTime(row.created_at),
      name: row.name ?? undefined,
      assets: await filesOf(db, { of: 'version', id: versionId }, scope),
      tags: (await tagsOf(db, row.package_id, [versionId])).get(versionId) ?? [],
      metadata: row.metadata,
    }
  },
)
