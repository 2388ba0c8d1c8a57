import { type Resolve, roleOf } from './scope.ts'

/** A repository belongs to its organization. */
export const resolveRepository: Resolve = async (db, repositoryId, userId) => {
  const row = await db
    .selectFrom('repository as r')
    .leftJoin('organization_member as m', join =>
      join.onRef('m.organization_id', '=', 'r.organization_id').on('m.user_id', '=', userId ?? ''),
    )
    .where('r.repository_id', '=', repositoryId)
    .select(['r.organization_id', 'm.is_admin'])
    .executeTakeFirst()
  return row && { organizationId: row.organization_id, repositoryId, role: roleOf(row.is_admin) }
}
