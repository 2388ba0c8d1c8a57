import { ownedBy } from '../../platform/access/scope.ts'

/** Finds the project and organization that own a device. */
const resolveDevice = ownedBy(
  (id, userId) => `
  select p.organization_id as "organizationId", p.project_id as "projectId", d.device_id as "deviceId",
         m.is_admin as "isAdmin"
    from device d join project p on p.project_id = d.project_id
    left join organization_member m on m.organization_id = p.organization_id and m.user_id = ${userId}
   where d.device_id = ${id}`,
)

/** Finds the owners of the resources of this feature. */
export const owners = {
  device: resolveDevice,
}
