import { handler } from '../../../platform/pipeline/handler.ts'
import { metadataText } from '../metadata.ts'
import { addFile } from '../repository-files.ts'

/** Attaches a blob to a package under a file name. */
export const repositories_AddPackageAsset = handler(
  'repositories_AddPackageAsset',
  async (context, { packageId, assetId, filename, metadata }) => {
    const { tx, scope, events, changed } = context
    const repositoryId = scope.repositoryId!
    const file = { repositoryId, assetId, filename, metadata: metadataText(context, metadata) }
    if (!(await addFile(tx, { of: 'package', id: packageId }, file)))
      return { result: 'FilenameAlreadyExists' as const }
    await events.emit('repositories_PackageAssetAdded', { repositoryId, packageId, assetId, filename })
    changed('packages')
    return { result: 'Added' as const }
  },
)
