import { refusal } from '../../../platform/access/authorize.ts'
import { select } from '../../../platform/database/client/connection.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

type Row = {
  projectId: string
  organizationId: string
  name: string
  deviceCount: number
  certificateRenewal: boolean
}

const DETAILS = `
  select p.project_id as "projectId", p.organization_id as "organizationId", p.name,
         p.certificate_renewal as "certificateRenewal",
         (select coalesce(sum(devices), 0)::bigint from project_device_count c where c.project_id = p.project_id) as "deviceCount"
    from project p where p.project_id = $1`

/**
 * Returns name, organization and number of devices of a project, and how long the hub keeps its data. The number comes from a summary
 * table, which is maintained by triggers.
 */
export const projects_GetDetails = handler('projects_GetDetails', async ({ db, services }, { projectId }) => {
  const [project] = await select<Row>(db, DETAILS, [projectId])
  // The project was deleted after the permission check.
  if (!project) throw refusal()
  return { ...project, retention: services.retention }
})
