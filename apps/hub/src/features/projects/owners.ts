import { ownedBy } from '../../platform/access/scope.ts'

/** Finds the organization that owns a project. */
const resolveProject = ownedBy(
  (id, userId) => `
  select p.organization_id as "organizationId", p.project_id as "projectId", m.is_admin as "isAdmin"
    from project p
    left join organization_member m on m.organization_id = p.organization_id and m.user_id = ${userId}
   where p.project_id = ${id}`,
)

/** Finds the project and organization that own a deployment token. */
const resolveDeploymentToken = ownedBy(
  (id, userId) => `
  select p.organization_id as "organizationId", p.project_id as "projectId", m.is_admin as "isAdmin"
    from deployment_token t join project p on p.project_id = t.project_id
    left join organization_member m on m.organization_id = p.organization_id and m.user_id = ${userId}
   where t.token_id = ${id}`,
)

/** Finds the owners of the resources of this feature. */
export const owners = {
  project: resolveProject,
  deploymentToken: resolveDeploymentToken,
}
