import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { BY_PROJECT_NAME } from '../../projects/index.ts'

/** Lists the projects of all organizations, most devices first. */
export const instance_QueryProjects = handler(
  'instance_QueryProjects',
  async ({ db }, { filter, ...page }) => {
    const devices = sql<number>`(select coalesce(sum(c.devices), 0) from project_device_count c
                                where c.project_id = p.project_id)::bigint`
    const stored = sql<number>`coalesce(s.bytes, 0)`
    const query = db
      .selectFrom('project as p')
      .innerJoin('organization as o', 'o.organization_id', 'p.organization_id')
      .leftJoin('project_stored_bytes as s', 's.project_id', 'p.project_id')
      .where(matchesText(filter?.text, sql`p.name`, sql`p.project_id`))
      .select([
        'p.project_id as projectId',
        'p.name',
        'o.organization_id as organizationId',
        'o.name as organizationName',
        devices.as('deviceCount'),
        's.bytes as storedBytes',
      ])
    const sorts = {
      name: BY_PROJECT_NAME,
      organization: { by: sql`o.name`, type: 'text' },
      devices: { by: devices, type: 'bigint' },
      stored: { by: stored, type: 'bigint' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`p.project_id`, '-devices')
    return {
      projects: rows.map(({ storedBytes, ...project }) => ({
        ...project,
        storedBytes: storedBytes ?? undefined,
      })),
      ...rest,
    }
  },
)
