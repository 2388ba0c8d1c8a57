import { handler } from '../../../platform/pipeline/handler.ts'

/** Renames a package, unless another package of the repository has the name. */
export const repositories_SetPackageName = handler(
  'repositories_SetPackageName',
  async ({ tx, scope, events, changed }, { packageId, name }) => {
    const repositoryId = scope.repositoryId!
    const other = await tx
      .selectFrom('package')
      .where('repository_id', '=', repositoryId)
      .where('name', '=', name)
      .where('package_id', '<>', packageId)
      .select('package_id')
      .executeTakeFirst()
    if (other) return { result: 'NameAlreadyExists' as const }
    const before = await tx
      .selectFrom('package')
      .where('package_id', '=', packageId)
      .select('name')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx.updateTable('package').set({ name }).where('package_id', '=', packageId).execute()
    await events.emit('repositories_PackageNameChanged', { repositoryId, packageId, name }, { old: before })
    changed('packages')
    return { result: 'Success' as const }
  },
)
