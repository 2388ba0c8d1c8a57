import { type Resolve, roleOf } from './scope.ts'

/** A project belongs to its organization. */
export const resolveProject: Resolve = async (db, projectId, userId) => {
  const row = await db
    .selectFrom('project as p')
    .leftJoin('organization_member as m', join =>
      join.onRef('m.organization_id', '=', 'p.organization_id').on('m.user_id', '=', userId ?? ''),
    )
    .where('p.project_id', '=', projectId)
    .select(['p.organization_id', 'm.is_admin'])
    .executeTakeFirst()
  return row && { organizationId: row.organization_id, projectId, role: roleOf(row.is_admin) }
}
