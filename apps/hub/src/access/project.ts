import { select } from '../database/connection.ts'
import { type Resolve, roleOf } from './scope.ts'

const OWNER_OF_PROJECT = `
  select p.organization_id as "organizationId", m.is_admin as "isAdmin"
    from project p
    left join organization_member m on m.organization_id = p.organization_id and m.user_id = $2
   where p.project_id = $1`

type Owner = { organizationId: string; isAdmin: boolean | null }

/** A project belongs to its organization. */
export const resolveProject: Resolve = async (db, projectId, userId) => {
  const [row] = await select<Owner>(db, OWNER_OF_PROJECT, [projectId, userId ?? ''])
  return row && { organizationId: row.organizationId, projectId, role: roleOf(row.isAdmin) }
}
