import { type Resolve, roleOf } from './scope.ts'

/** A deployment token belongs to its project. */
export const resolveDeploymentToken: Resolve = async (db, tokenId, userId) => {
  const row = await db
    .selectFrom('deployment_token as t')
    .innerJoin('project as p', 'p.project_id', 't.project_id')
    .leftJoin('organization_member as m', join =>
      join.onRef('m.organization_id', '=', 'p.organization_id').on('m.user_id', '=', userId ?? ''),
    )
    .where('t.token_id', '=', tokenId)
    .select(['p.organization_id', 'p.project_id', 'm.is_admin'])
    .executeTakeFirst()
  return row && { organizationId: row.organization_id, projectId: row.project_id, role: roleOf(row.is_admin) }
}
