import { handler } from '../../../platform/pipeline/handler.ts'
import { metadataOf, metadataText } from '../metadata.ts'

/** Replaces the metadata of a version. */
export const repositories_SetVersionMetadata = handler(
  'repositories_SetVersionMetadata',
  async (context, { versionId, metadata }) => {
    const { tx, scope, events, changed } = context
    const before = await tx
      .selectFrom('package_version')
      .where('version_id', '=', versionId)
      .select(metadataOf('metadata').as('metadata'))
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('package_version')
      .set({ metadata: metadataText(context, metadata) })
      .where('version_id', '=', versionId)
      .execute()
    await events.emit(
      'repositories_PackageVersionMetadataChanged',
      { repositoryId: scope.repositoryId!, versionId },
      { old: before },
    )
    changed('packages')
    return {}
  },
)
