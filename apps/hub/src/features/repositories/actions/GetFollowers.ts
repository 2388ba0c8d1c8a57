import { type RawBuilder, sql } from 'kysely'
import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { repositoryOfDevicePath } from '../repositories.ts'

/**
 * Counts the devices that a renaming of the repository concerns: they get updates by a path with its present slug or display name that
 * resolves to this repository for them. Paths with an id or a former name are not counted. For a public repository the devices of other
 * organizations are counted too, but only as a total.
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
    // The name is resolved once for each project, since all devices of a project resolve it alike.
    const count = (isOf: RawBuilder<unknown>) =>
      tryBrief(db, signal, async tx => {
        const { rows } = await sql<{ deviceCount: number; projectCount: number }>`
          select coalesce(sum(w.devices), 0)::int as "deviceCount", count(distinct w.project_id)::int as "projectCount"
            from (select d.project_id, split_part(u.path, '/', 1) as name, count(*) as devices
                    from project p
                    join device d on d.project_id = p.project_id
                    join device_update u on u.device_id = d.device_id
                   where ${isOf} and split_part(u.path, '/', 1) in ${names}
                   group by 1, 2) w
            join lateral (${repositoryOfDevicePath('w.name', 'w.project_id')}) f on f.repository_id = ${repositoryId}`.execute(
          tx,
        )
        return rows[0]!
      })
    const [own, elsewhere] = await Promise.all([
      count(sql`p.organization_id = ${organizationId}`),
      visibility === 'Public' ? count(sql`p.organization_id <> ${organizationId}`) : { deviceCount: 0 },
    ])
    return {
      ...(own ?? { deviceCount: 0, projectCount: 0, tookTooLong: true as const }),
      otherDeviceCount: elsewhere?.deviceCount,
    }
  },
)
