import { handler } from '../../../platform/pipeline/handler.ts'
import { lockTags, refuseWhileLocked } from '../repository-tags.ts'

/** Deletes a package with its versions, unless a version has a locked tag. */
export const repositories_DeletePackage = handler(
  'repositories_DeletePackage',
  async ({ tx, scope, events, changed }, { packageId }) => {
    await lockTags(tx, packageId)
    await refuseWhileLocked(tx, packageId)
    const old = await tx
      .deleteFrom('package')
      .where('package_id', '=', packageId)
      .returning('name')
      .executeTakeFirstOrThrow()
    await events.emit(
      'repositories_PackageDeleted',
      { repositoryId: scope.repositoryId!, packageId },
      { old },
    )
    changed('packages')
    return {}
  },
)
