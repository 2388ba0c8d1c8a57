import { ownedBy } from './scope.ts'

/** Finds an organization and the caller's role in it. */
export const resolveOrganization = ownedBy(`
  select o.organization_id as "organizationId", m.is_admin as "isAdmin"
    from organization o
    left join organization_member m on m.organization_id = o.organization_id and m.user_id = $2
   where o.organization_id = $1`)
