import { sql } from 'kysely'
import { tryBrief } from '../../database/client/brief.ts'
import { handler } from '../../handler.ts'

/**
 * Counts the devices that a renaming of the repository concerns: they get updates by a path with its present slug or display name. Paths
 * with an id or a former name are not counted. For a public repository the devices of other organizations are counted too, but only as a
 * total. An organization with a repository of its own of that name is left out, because the path then means its own repository.
 */
export const repositories_GetFollowers = handler(
  'repositories_GetFollowers',
  async ({ db, signal }, { repositoryId }) => {
    const { organizationId, visibility, slug, name } = await db
      .selectFrom('repository')
      .where('repository_id', '=', repositoryId)
      .select(['organization_id as organizationId', 'visibility', 'slug', 'display_name as name'])
      .executeTakeFirstOrThrow()
    const names = sql`(${slug}::text, ${name}::text)`
    const [own, elsewhere] = await Promise.all([
      tryBrief(db, signal, async tx => {
        const { rows } = await sql<{ deviceCount: number; projectCount: number }>`
          select count(*)::int as "deviceCount", count(distinct d.project_id)::int as "projectCount"
            from project p
            join device d on d.project_id = p.project_id
            join device_update u on u.device_id = d.device_id
           where p.organization_id = ${organizationId} and split_part(u.path, '/', 1) in ${names}`.execute(tx)
        return rows[0]!
      }),
      visibility === 'Public'
        ? tryBrief(db, signal, async tx => {
            const { rows } = await sql<{ deviceCount: number }>`
              select count(*)::int as "deviceCount"
                from device_update u
                join device d on d.device_id = u.device_id
                join project p on p.project_id = d.project_id
               where split_part(u.path, '/', 1) in ${names} and p.organization_id <> ${organizationId}
                 and not exists (
                   select from repository o
                    where o.organization_id = p.organization_id
                      and split_part(u.path, '/', 1) in (o.slug, o.display_name))`.execute(tx)
            return rows[0]!
          })
        : { deviceCount: 0 },
    ])
    return {
      ...(own ?? { deviceCount: 0, projectCount: 0, tookTooLong: true as const }),
      otherDeviceCount: elsewhere?.deviceCount,
    }
  },
)
