import { sql } from 'kysely'
import { runBrief } from '../../database/client/brief.ts'
import { isCancelled } from '../../database/client/errors.ts'
import { handler } from '../../handler.ts'

/**
 * Counts the devices of the repository's organization whose update follows a path with its present slug or display name. Paths with an id
 * or a former name do not depend on the present names.
 */
export const repositories_GetFollowers = handler(
  'repositories_GetFollowers',
  async ({ db, signal }, { repositoryId }) => {
    try {
      return await runBrief(db, signal, async tx => {
        const { rows } = await sql<{ deviceCount: number; projectCount: number }>`
          select count(*)::int as "deviceCount", count(distinct d.project_id)::int as "projectCount"
            from repository r
            join project p on p.organization_id = r.organization_id
            join device d on d.project_id = p.project_id
            join device_update u on u.device_id = d.device_id
           where r.repository_id = ${repositoryId}
             and split_part(u.path, '/', 1) in (r.slug, r.display_name)`.execute(tx)
        return rows[0]!
      })
    } catch (error) {
      if (!isCancelled(error)) throw error
      return { deviceCount: 0, projectCount: 0, tookTooLong: true as const }
    }
  },
)
