import { setFileMetadata } from '../../database/repository-files.ts'
import { handler } from '../../handler.ts'

export const repositories_SetPackageAssetMetadata = handler(
  'repositories_SetPackageAssetMetadata',
  async ({ tx, scope, events, changed }, { packageId, filename, metadata }) => {
    await setFileMetadata(tx, { of: 'package', id: packageId }, filename, metadata)
    await events.emit('repositories_PackageAssetMetadataChanged', {
      repositoryId: scope.repositoryId!,
      packageId,
      filename,
    })
    changed('packages')
    return {}
  },
)
