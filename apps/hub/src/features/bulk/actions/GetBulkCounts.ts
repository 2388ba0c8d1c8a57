import { sql } from 'kysely'
import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { matchesFilter } from '../../devices/index.ts'
import { filterOf } from '../bulk-preview.ts'

/** Counts the devices of a selection and their pending certificates. Returns no counts if counting takes more than 2 s. */
export const devices_GetBulkCounts = handler(
  'devices_GetBulkCounts',
  async ({ db, signal, caller }, { projectId, selection }) => {
    const filter = selection.kind === 'devices' ? undefined : await filterOf(db, caller, projectId, selection)
    const counts = await tryBrief(db, signal, async tx =>
      tx
        .selectFrom('device as d')
        .where('d.project_id', '=', projectId)
        .where(
          selection.kind === 'devices'
            ? sql<boolean>`d.device_id = any (${selection.deviceIds}::text[])`
            : await matchesFilter(tx, filter, projectId),
        )
        .select([
          sql<number>`count(*)`.as('deviceCount'),
          sql<number>`coalesce(sum(d.pending_certificates), 0)`.as('pendingCertificateCount'),
          sql<number>`count(*) filter (where d.is_connected)`.as('connectedCount'),
        ])
        .executeTakeFirstOrThrow(),
    )
    return counts ?? {}
  },
)
