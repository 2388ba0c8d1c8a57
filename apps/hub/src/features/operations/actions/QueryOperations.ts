import { sql } from 'kysely'
import { queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { operationsWithDevices, summaryOf } from '../operation-summary.ts'

const SORTS = { createdAt: { by: sql`o.created_at`, type: 'timestamptz' } } as const

/** Lists the operations of a device, newest first. */
export const devices_QueryOperations = handler(
  'devices_QueryOperations',
  async ({ db }, { deviceId, limit, cursor, sort }) => {
    const query = operationsWithDevices(db).where('o.device_id', '=', deviceId)
    const page = { limit, cursor, sort }
    const { rows, ...rest } = await queryPage(query, page, SORTS, sql`o.operation_id`, '-createdAt')
    return { operations: rows.map(summaryOf), ...rest }
  },
)
