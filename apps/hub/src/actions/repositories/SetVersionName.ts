import { handler } from '../../handler.ts'

/** Sets or clears the name of a version. */
export const repositories_SetVersionName = handler(
  'repositories_SetVersionName',
  async ({ tx, scope, events, changed }, { versionId, name }) => {
    await tx
      .updateTable('package_version')
      .set({ name: name ?? null })
      .where('version_id', '=', versionId)
      .returning('version_id')
      .executeTakeFirstOrThrow()
    await events.emit('repositories_PackageVersionNameChanged', {
      repositoryId: scope.repositoryId!,
      versionId,
      ...(name !== undefined && { name }),
    })
    changed('packages')
    return {}
  },
)
