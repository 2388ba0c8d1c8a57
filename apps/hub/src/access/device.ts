import { select } from '../database/connection.ts'
import { type Resolve, roleOf } from './scope.ts'

const OWNER_OF_DEVICE = `
  select p.organization_id as "organizationId", p.project_id as "projectId", m.is_admin as "isAdmin"
    from device d join project p on p.project_id = d.project_id
    left join organization_member m on m.organization_id = p.organization_id and m.user_id = $2
   where d.device_id = $1`

type Owner = { organizationId: string; projectId: string; isAdmin: boolean | null }

/** A device belongs to its project. */
export const resolveDevice: Resolve = async (db, deviceId, userId) => {
  const [row] = await select<Owner>(db, OWNER_OF_DEVICE, [deviceId, userId ?? ''])
  return (
    row && {
      organizationId: row.organizationId,
      projectId: row.projectId,
      deviceId,
      role: roleOf(row.isAdmin),
    }
  )
}
