import { handler } from '../../../platform/pipeline/handler.ts'
import { removeFile } from '../repository-files.ts'

/** Removes a file from a version. Its blob stays in the repository. */
export const repositories_RemoveVersionAsset = handler(
  'repositories_RemoveVersionAsset',
  async ({ tx, scope, events, changed }, { versionId, filename }) => {
    const old = await removeFile(tx, { of: 'version', id: versionId }, filename)
    await events.emit(
      'repositories_PackageVersionAssetRemoved',
      { repositoryId: scope.repositoryId!, versionId, filename },
      { old },
    )
    changed('packages')
    return {}
  },
)
