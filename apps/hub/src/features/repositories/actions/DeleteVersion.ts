import { handler } from '../../../platform/pipeline/handler.ts'
import { lockTags, refuseWhileLocked, removeAllTags } from '../repository-tags.ts'

/** Deletes a version, unless it has a locked tag. */
export const repositories_DeleteVersion = handler(
  'repositories_DeleteVersion',
  async (context, { versionId }) => {
    const { tx, scope, events, changed } = context
    const packageId = scope.packageId!
    await lockTags(tx, packageId)
    await refuseWhileLocked(tx, packageId, versionId)
    await removeAllTags(context, packageId, versionId)
    const { name } = await tx
      .deleteFrom('package_version')
      .where('version_id', '=', versionId)
      .returning('name')
      .executeTakeFirstOrThrow()
    await events.emit(
      'repositories_PackageVersionDeleted',
      { repositoryId: scope.repositoryId!, packageId, versionId },
      { old: { name: name ?? undefined } },
    )
    changed('packages')
    return {}
  },
)
