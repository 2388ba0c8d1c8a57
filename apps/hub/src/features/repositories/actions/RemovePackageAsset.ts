import { handler } from '../../../platform/pipeline/handler.ts'
import { removeFile } from '../repository-files.ts'

/** Removes a file from a package. Its blob stays in the repository. */
export const repositories_RemovePackageAsset = handler(
  'repositories_RemovePackageAsset',
  async ({ tx, scope, events, changed }, { packageId, filename }) => {
    const old = await removeFile(tx, { of: 'package', id: packageId }, filename)
    await events.emit(
      'repositories_PackageAssetRemoved',
      { repositoryId: scope.repositoryId!, packageId, filename },
      { old },
    )
    changed('packages')
    return {}
  },
)
