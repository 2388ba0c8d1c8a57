import { metadataText } from '../../database/queries/repositories/metadata.ts'
import { handler } from '../../handler.ts'

/** Replaces the metadata of a version. */
export const repositories_SetVersionMetadata = handler(
  'repositories_SetVersionMetadata',
  async ({ tx, scope, events, changed, inputText }, { versionId, metadata }) => {
    await tx
      .updateTable('package_version')
      .set({ metadata: metadataText(inputText, metadata) })
      .where('version_id', '=', versionId)
      .returning('version_id')
      .executeTakeFirstOrThrow()
    await events.emit('repositories_PackageVersionMetadataChanged', {
      repositoryId: scope.repositoryId!,
      versionId,
    })
    changed('packages')
    return {}
  },
)
