import { sql } from 'kysely'
import { type Resolve, roleOf } from './scope.ts'

/** A device belongs to its project. */
export const resolveDevice: Resolve = async (db, deviceId, userId) => {
  const { rows } = await sql<{ organizationId: string; projectId: string; isAdmin: boolean | null }>`
    select p.organization_id as "organizationId", p.project_id as "projectId", m.is_admin as "isAdmin"
      from device d join project p on p.project_id = d.project_id
      left join organization_member m on m.organization_id = p.organization_id and m.user_id = ${userId ?? ''}
     where d.device_id = ${deviceId}`.execute(db)
  const row = rows[0]
  return (
    row && {
      organizationId: row.organizationId,
      projectId: row.projectId,
      deviceId,
      role: roleOf(row.isAdmin),
    }
  )
}
