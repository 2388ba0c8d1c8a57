import { refusal } from '../../access/authorize.ts'
import { handler } from '../../handler.ts'

type Row = { projectId: string; organizationId: string; name: string; deviceCount: number }

const DETAILS = `
  select p.project_id as "projectId", p.organization_id as "organizationId", p.name,
         (select coalesce(sum(devices), 0)::bigint from project_device_count c where c.project_id = p.project_id) as "deviceCount"
    from project p where p.project_id = $1`

/** Returns name, organization and number of devices of a project. The number comes from a summary table that triggers maintain. */
export const projects_GetDetails = handler('projects_GetDetails', async ({ pool }, { projectId }) => {
  const [project] = (await pool.query<Row>(DETAILS, [projectId])).rows
  // The project was deleted after the permission check.
  if (!project) throw refusal()
  return project
})
