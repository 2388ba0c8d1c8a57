import { handler } from '../../../platform/pipeline/handler.ts'
import { metadataOf, metadataText } from '../metadata.ts'

/** Replaces the metadata of a package. */
export const repositories_SetPackageMetadata = handler(
  'repositories_SetPackageMetadata',
  async (context, { packageId, metadata }) => {
    const { tx, scope, events, changed } = context
    const before = await tx
      .selectFrom('package')
      .where('package_id', '=', packageId)
      .select(metadataOf('metadata').as('metadata'))
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('package')
      .set({ metadata: metadataText(context, metadata) })
      .where('package_id', '=', packageId)
      .execute()
    await events.emit(
      'repositories_PackageMetadataChanged',
      { repositoryId: scope.repositoryId!, packageId },
      { old: before },
    )
    changed('packages')
    return {}
  },
)
