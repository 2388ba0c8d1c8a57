import { handler } from '../../handler.ts'

/** Sets or clears the kind of a package. */
export const repositories_SetPackageKind = handler(
  'repositories_SetPackageKind',
  async ({ tx, scope, events, changed }, { packageId, kind }) => {
    await tx
      .updateTable('package')
      .set({ kind: kind ?? null })
      .where('package_id', '=', packageId)
      .returning('package_id')
      .executeTakeFirstOrThrow()
    await events.emit('repositories_PackageKindChanged', {
      repositoryId: scope.repositoryId!,
      packageId,
      ...(kind !== undefined && { kind }),
    })
    changed('packages')
    return {}
  },
)
