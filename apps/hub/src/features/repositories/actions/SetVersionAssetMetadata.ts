import { handler } from '../../../platform/pipeline/handler.ts'
import { metadataText } from '../metadata.ts'
import { setFileMetadata } from '../repository-files.ts'

/** Replaces the metadata of a file of a version. */
export const repositories_SetVersionAssetMetadata = handler(
  'repositories_SetVersionAssetMetadata',
  async (context, { versionId, filename, metadata }) => {
    const { tx, scope, events, changed } = context
    const old = await setFileMetadata(
      tx,
      { of: 'version', id: versionId },
      filename,
      metadataText(context, metadata),
    )
    await events.emit(
      'repositories_PackageVersionAssetMetadataChanged',
      { repositoryId: scope.repositoryId!, versionId, filename },
      { old },
    )
    changed('packages')
    return {}
  },
)
