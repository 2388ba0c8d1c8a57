import { ownedBy } from './scope.ts'

/** Finds the organization that owns a project. */
export const resolveProject = ownedBy(`
  select p.organization_id as "organizationId", p.project_id as "projectId", m.is_admin as "isAdmin"
    from project p
    left join organization_member m on m.organization_id = p.organization_id and m.user_id = $2
   where p.project_id = $1`)
