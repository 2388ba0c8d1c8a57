import { sql } from 'kysely'
import { handler } from '../../handler.ts'

export const projects_GetDetails = handler('projects_GetDetails', async ({ db }, { projectId }) =>
  db
    .selectFrom('project as p')
    .where('p.project_id', '=', projectId)
    .select([
      'p.project_id as projectId',
      'p.organization_id as organizationId',
      'p.name',
      sql<number>`(select count(*) from device d where d.project_id = p.project_id)`.as('deviceCount'),
    ])
    .executeTakeFirstOrThrow(),
)
