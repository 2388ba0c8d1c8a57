import { sql } from 'kysely'
import { refusal } from '../../access/authorize.ts'
import { handler } from '../../handler.ts'

/**
 * Returns name, organization and number of devices of a project. The number comes from a summary table, which is maintained by triggers.
 */
export const projects_GetDetails = handler('projects_GetDetails', async ({ db }, { projectId }) => {
  const project = await db
    .selectFrom('project as p')
    .where('p.project_id', '=', projectId)
    .select(['p.project_id as projectId', 'p.organization_id as organizationId', 'p.name'])
    .select(
      sql<number>`(select coalesce(sum(devices), 0)::bigint from project_device_count c where c.project_id = p.project_id)`.as(
        'deviceCount',
      ),
    )
    .executeTakeFirst()
  // The project was deleted after the permission check.
  if (!project) throw refusal()
  return project
})
