import { sql } from 'kysely'
import { type Resolve, roleOf } from './scope.ts'

/** A project belongs to its organization. */
export const resolveProject: Resolve = async (db, projectId, userId) => {
  const { rows } = await sql<{ organizationId: string; isAdmin: boolean | null }>`
    select p.organization_id as "organizationId", m.is_admin as "isAdmin"
      from project p
      left join organization_member m on m.organization_id = p.organization_id and m.user_id = ${userId ?? ''}
     where p.project_id = ${projectId}`.execute(db)
  const row = rows[0]
  return row && { organizationId: row.organizationId, projectId, role: roleOf(row.isAdmin) }
}
