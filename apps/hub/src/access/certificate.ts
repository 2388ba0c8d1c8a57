import { select } from '../database/connection.ts'
import { type Resolve, roleOf } from './scope.ts'

const OWNER_OF_CERTIFICATE = `
  select p.organization_id as "organizationId", p.project_id as "projectId", d.device_id as "deviceId",
         m.is_admin as "isAdmin"
    from device_certificate c join device d on d.device_id = c.device_id
    join project p on p.project_id = d.project_id
    left join organization_member m on m.organization_id = p.organization_id and m.user_id = $2
   where c.certificate_id = $1`

type Owner = { organizationId: string; projectId: string; deviceId: string; isAdmin: boolean | null }

/** A certificate belongs to its device. */
export const resolveCertificate: Resolve = async (db, certificateId, userId) => {
  const [row] = await select<Owner>(db, OWNER_OF_CERTIFICATE, [certificateId, userId ?? ''])
  if (!row) return undefined
  const { isAdmin, ...owner } = row
  return { ...owner, role: roleOf(isAdmin) }
}
