import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { devices_QueryTimeline } from '../../timeline/index.ts'
import { historyOf, readConnectionHistory } from '../connection-history.ts'

/**
 * Computes during which share of each tick of a period a device was connected. Returns no share if reading takes more than 2 s, and no
 * changes either, so that the next call need not wait longer.
 */
export const devices_GetConnectionHistory = handler(
  'devices_GetConnectionHistory',
  async (context, { deviceId, changes: limit, ...period }) => {
    const found = await tryBrief(context.db, context.signal, tx =>
      readConnectionHistory(tx, deviceId, period),
    )
    if (!found) {
      const nowMs = Date.now()
      return {
        until: wireTime(new Date(nowMs)),
        ...historyOf([], nowMs, period),
        tookTooLong: true as const,
      }
    }
    if (limit === undefined) return found
    const withinSecs = period.ticks * period.tickSecs
    const changes = await devices_QueryTimeline(context, {
      deviceId,
      limit,
      cursor: undefined,
      withCounts: undefined,
      filter: { kinds: ['person'], withinSecs } as never,
    })
    return { ...found, changes }
  },
)
