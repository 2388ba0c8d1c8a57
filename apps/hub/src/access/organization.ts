import { type Resolve, roleOf } from './scope.ts'

/** An organization owns itself. */
export const resolveOrganization: Resolve = async (db, organizationId, userId) => {
  const row = await db
    .selectFrom('organization as o')
    .leftJoin('organization_member as m', join =>
      join.onRef('m.organization_id', '=', 'o.organization_id').on('m.user_id', '=', userId ?? ''),
    )
    .where('o.organization_id', '=', organizationId)
    .select('m.is_admin')
    .executeTakeFirst()
  return row && { organizationId, role: roleOf(row.is_admin) }
}
