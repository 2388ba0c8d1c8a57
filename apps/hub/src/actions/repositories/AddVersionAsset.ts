import { metadataText } from '../../database/queries/repositories/metadata.ts'
import { addFile } from '../../database/queries/repositories/repository-files.ts'
import { handler } from '../../handler.ts'

/** Adds a blob to a version under a file name. */
export const repositories_AddVersionAsset = handler(
  'repositories_AddVersionAsset',
  async ({ tx, scope, events, changed, inputText }, { versionId, assetId, filename, metadata }) => {
    const repositoryId = scope.repositoryId!
    const file = { repositoryId, assetId, filename, metadata: metadataText(inputText, metadata) }
    if (!(await addFile(tx, { of: 'version', id: versionId }, file)))
      return { result: 'FilenameAlreadyExists' as const }
    await events.emit('repositories_PackageVersionAssetAdded', { repositoryId, versionId, assetId, filename })
    changed('packages')
    return { result: 'Added' as const }
  },
)
