import { select } from '../database/connection.ts'
import { type Resolve, roleOf } from './scope.ts'

const OWNER_OF_TOKEN = `
  select p.organization_id as "organizationId", p.project_id as "projectId", m.is_admin as "isAdmin"
    from deployment_token t join project p on p.project_id = t.project_id
    left join organization_member m on m.organization_id = p.organization_id and m.user_id = $2
   where t.token_id = $1`

type Owner = { organizationId: string; projectId: string; isAdmin: boolean | null }

/** A deployment token belongs to its project. */
export const resolveDeploymentToken: Resolve = async (db, tokenId, userId) => {
  const [row] = await select<Owner>(db, OWNER_OF_TOKEN, [tokenId, userId ?? ''])
  if (!row) return undefined
  const { isAdmin, ...owner } = row
  return { ...owner, role: roleOf(isAdmin) }
}
