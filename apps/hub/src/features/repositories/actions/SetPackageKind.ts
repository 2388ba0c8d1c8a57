import { handler } from '../../../platform/pipeline/handler.ts'

/** Sets or clears the kind of a package. */
export const repositories_SetPackageKind = handler(
  'repositories_SetPackageKind',
  async ({ tx, scope, events, changed }, { packageId, kind }) => {
    const before = await tx
      .selectFrom('package')
      .where('package_id', '=', packageId)
      .select('kind')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('package')
      .set({ kind: kind ?? null })
      .where('package_id', '=', packageId)
      .execute()
    await events.emit(
      'repositories_PackageKindChanged',
      { repositoryId: scope.repositoryId!, packageId, ...(kind !== undefined && { kind }) },
      { old: { kind: before.kind ?? undefined } },
    )
    changed('packages')
    return {}
  },
)
