import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { historyOf, readConnectionHistory } from '../connection-history.ts'

/** Computes during which share of each tick of a period a device was connected. Returns no share if reading takes more than 2 s. */
export const devices_GetConnectionHistory = handler(
  'devices_GetConnectionHistory',
  async ({ db, signal }, { deviceId, ...period }) => {
    const found = await tryBrief(db, signal, tx => readConnectionHistory(tx, deviceId, period))
    if (found) return found
    const nowMs = Date.now()
    return { until: wireTime(new Date(nowMs)), ...historyOf([], nowMs, period), tookTooLong: true as const }
  },
)
