import { ownedBy } from '../../platform/access/scope.ts'

/** Finds the project and organization that own an operation. Its device may have been deleted. */
const resolveOperation = ownedBy(
  (id, userId) => `
  select p.organization_id as "organizationId", p.project_id as "projectId", o.device_id as "deviceId",
         m.is_admin as "isAdmin"
    from device_operation o join project p on p.project_id = o.project_id
    left join organization_member m on m.organization_id = p.organization_id and m.user_id = ${userId}
   where o.operation_id = ${id}`,
)

/** Finds the owners of the resources of this feature. */
export const owners = { deviceOperation: resolveOperation }
