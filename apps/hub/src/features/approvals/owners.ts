import { ownedBy } from '../../platform/access/scope.ts'

/** Finds the device, project and organization that own a certificate. */
const resolveCertificate = ownedBy(`
  select p.organization_id as "organizationId", p.project_id as "projectId", d.device_id as "deviceId",
         m.is_admin as "isAdmin"
    from device_certificate c join device d on d.device_id = c.device_id
    join project p on p.project_id = d.project_id
    left join organization_member m on m.organization_id = p.organization_id and m.user_id = $2
   where c.certificate_id = $1`)

/** Finds the owners of the resources of this feature. */
export const owners = {
  certificate: resolveCertificate,
}
