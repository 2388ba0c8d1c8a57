import { sql } from 'kysely'
import { isVisibleTo } from '../../../platform/access/visible.ts'
import { queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { secsBetween, wireTime } from '../../../platform/runtime/times.ts'

/** Lists the devices that the caller can see, sorted by id. */
export const devices_Query = handler('devices_Query', async ({ db, caller }, { filter: _, ...page }) => {
  const query = db
    .selectFrom('device as d')
    .innerJoin('project as p', 'p.project_id', 'd.project_id')
    .where(isVisibleTo(caller, sql`p.organization_id`))
    .select(['d.device_id', 'd.project_id', 'd.is_connected', 'd.last_connected_at'])
  const sorts = { deviceId: { by: sql`d.device_id`, type: 'text' } } as const
  const { rows, ...rest } = await queryPage(query, page, sorts, sql`d.device_id`, 'deviceId')
  const now = new Date()
  return {
    devices: rows.map(row => ({
      deviceId: row.device_id,
      projectId: row.project_id,
      isConnected: row.is_connected,
      lastConnectedAt: row.last_connected_at ? wireTime(row.last_connected_at) : undefined,
      currentConnectionDurationSecs:
        row.is_connected && row.last_connected_at ? secsBetween(row.last_connected_at, now) : undefined,
    })),
    ...rest,
  }
})
