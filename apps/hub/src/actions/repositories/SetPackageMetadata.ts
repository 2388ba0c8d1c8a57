import { metadataText } from '../../database/queries/repositories/metadata.ts'
import { handler } from '../../handler.ts'

/** Replaces the metadata of a package. */
export const repositories_SetPackageMetadata = handler(
  'repositories_SetPackageMetadata',
  async ({ tx, scope, events, changed, inputText }, { packageId, metadata }) => {
    await tx
      .updateTable('package')
      .set({ metadata: metadataText(inputText, metadata) })
      .where('package_id', '=', packageId)
      .returning('package_id')
      .executeTakeFirstOrThrow()
    await events.emit('repositories_PackageMetadataChanged', { repositoryId: scope.repositoryId!, packageId })
    changed('packages')
    return {}
  },
)
