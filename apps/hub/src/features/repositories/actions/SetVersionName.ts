import { handler } from '../../../platform/pipeline/handler.ts'

/** Sets or clears the name of a version. */
export const repositories_SetVersionName = handler(
  'repositories_SetVersionName',
  async ({ tx, scope, events, changed }, { versionId, name }) => {
    const before = await tx
      .selectFrom('package_version')
      .where('version_id', '=', versionId)
      .select('name')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('package_version')
      .set({ name: name ?? null })
      .where('version_id', '=', versionId)
      .execute()
    await events.emit(
      'repositories_PackageVersionNameChanged',
      { repositoryId: scope.repositoryId!, versionId, ...(name !== undefined && { name }) },
      { old: { name: before.name ?? undefined } },
    )
    changed('packages')
    return {}
  },
)
