import { setFileMetadata } from '../../database/repository-files.ts'
import { handler } from '../../handler.ts'

export const repositories_SetVersionAssetMetadata = handler(
  'repositories_SetVersionAssetMetadata',
  async ({ tx, scope, events, changed }, { versionId, filename, metadata }) => {
    await setFileMetadata(tx, { of: 'version', id: versionId }, filename, metadata)
    await events.emit('repositories_PackageVersionAssetMetadataChanged', {
      repositoryId: scope.repositoryId!,
      versionId,
      filename,
    })
    changed('packages')
    return {}
  },
)
