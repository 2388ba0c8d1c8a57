import type { EventSeverity } from '@muster/actions'
import { sql } from 'kysely'
import type { z } from 'zod'
import { queryPage } from '../../database/page.ts'
import { handler } from '../../handler.ts'
import { wireTime } from '../../times.ts'

const DEFAULT_LIMIT = 100

export const devices_QueryEvents = handler(
  'devices_QueryEvents',
  async ({ db }, { deviceId, limit = DEFAULT_LIMIT, cursor }) => {
    const query = db
      .selectFrom('device_event as e')
      .where('e.device_id', '=', deviceId)
      .select([
        'e.event_id',
        'e.category',
        'e.severity',
        'e.body',
        'e.attributes',
        'e.emitted_at',
        'e.received_at',
      ])
    const sorts = { emittedAt: { by: sql`e.emitted_at`, type: 'timestamptz' } } as const
    const page = { limit, cursor, countTotal: false }
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`e.event_id`, '-emittedAt')
    return {
      events: rows.map(row => ({
        eventId: row.event_id,
        category: row.category ?? undefined,
        severity: row.severity as z.output<typeof EventSeverity>,
        body: row.body,
        attributes: row.attributes,
        emittedAt: wireTime(row.emitted_at),
        receivedAt: wireTime(row.received_at),
      })),
      ...rest,
    }
  },
)
