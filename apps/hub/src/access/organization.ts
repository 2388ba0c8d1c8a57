import { select } from '../database/connection.ts'
import { type Resolve, roleOf } from './scope.ts'

const ROLE_IN_ORGANIZATION = `
  select m.is_admin as "isAdmin"
    from organization o
    left join organization_member m on m.organization_id = o.organization_id and m.user_id = $2
   where o.organization_id = $1`

/** An organization owns itself. */
export const resolveOrganization: Resolve = async (db, organizationId, userId) => {
  const [row] = await select<{ isAdmin: boolean | null }>(db, ROLE_IN_ORGANIZATION, [
    organizationId,
    userId ?? '',
  ])
  return row && { organizationId, role: roleOf(row.isAdmin) }
}
