import { handler } from '../../../platform/pipeline/handler.ts'
import { metadataText } from '../metadata.ts'
import { addFile } from '../repository-files.ts'

/** Adds a blob to a version under a file name. */
export const repositories_AddVersionAsset = handler(
  'repositories_AddVersionAsset',
  async (context, { versionId, assetId, filename, metadata }) => {
    const { tx, scope, events, changed } = context
    const repositoryId = scope.repositoryId!
    const file = { repositoryId, assetId, filename, metadata: metadataText(context, metadata) }
    if (!(await addFile(tx, { of: 'version', id: versionId }, file)))
      return { result: 'FilenameAlreadyExists' as const }
    await events.emit('repositories_PackageVersionAssetAdded', { repositoryId, versionId, assetId, filename })
    changed('packages')
    return { result: 'Added' as const }
  },
)
