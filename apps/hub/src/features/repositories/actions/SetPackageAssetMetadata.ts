import { handler } from '../../../platform/pipeline/handler.ts'
import { metadataText } from '../metadata.ts'
import { setFileMetadata } from '../repository-files.ts'

/** Replaces the metadata of a file of a package. */
export const repositories_SetPackageAssetMetadata = handler(
  'repositories_SetPackageAssetMetadata',
  async (context, { packageId, filename, metadata }) => {
    const { tx, scope, events, changed } = context
    const old = await setFileMetadata(
      tx,
      { of: 'package', id: packageId },
      filename,
      metadataText(context, metadata),
    )
    await events.emit(
      'repositories_PackageAssetMetadataChanged',
      { repositoryId: scope.repositoryId!, packageId, filename },
      { old },
    )
    changed('packages')
    return {}
  },
)
