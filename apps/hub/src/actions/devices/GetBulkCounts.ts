import { sql } from 'kysely'
import { withQueryOptions } from '../../database/client/connection.ts'
import { matchesFilter } from '../../database/queries/devices/device-filter.ts'
import { handler } from '../../handler.ts'

/** Counts the devices of a selection and their pending certificates. */
export const devices_GetBulkCounts = handler(
  'devices_GetBulkCounts',
  async ({ db }, { projectId, selection }) => {
    let query = withQueryOptions(db, { plan: 'by values' })
      .selectFrom('device as d')
      .where('d.project_id', '=', projectId)
      .select([
        sql<number>`count(*)`.as('devices'),
        sql<number>`coalesce(sum(d.pending_certificates), 0)`.as('pending'),
        sql<number>`count(*) filter (where d.is_connected)`.as('connected'),
      ])
    const conditions =
      selection.kind === 'devices'
        ? [sql<boolean>`d.device_id = any (${selection.deviceIds}::text[])`]
        : matchesFilter(selection.filter)
    for (const condition of conditions) query = query.where(condition)
    const { devices, pending, connected } = await query.executeTakeFirstOrThrow()
    return { deviceCount: devices, pendingCertificateCount: pending, connectedCount: connected }
  },
)
