import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'

/**
 * Counts the accounts, projects and devices of the instance. The number of devices comes from a summary table, which is maintained by
 * triggers.
 */
export const instance_GetStatistics = handler('instance_GetStatistics', async ({ db }) =>
  db
    .selectNoFrom(({ selectFrom, fn }) => [
      selectFrom('user').select(fn.countAll<number>().as('n')).$asScalar().$notNull().as('users'),
      selectFrom('project').select(fn.countAll<number>().as('n')).$asScalar().$notNull().as('projects'),
      selectFrom('project_device_count')
        .select(sql<number>`coalesce(sum(devices), 0)::bigint`.as('n'))
        .$asScalar()
        .$notNull()
        .as('devices'),
    ])
    .executeTakeFirstOrThrow(),
)
