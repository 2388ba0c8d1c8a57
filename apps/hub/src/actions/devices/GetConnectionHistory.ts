import { readConnectionHistory } from '../../database/queries/devices/connection-history.ts'
import { handler } from '../../handler.ts'

/** Computes during which share of each tick of a period a device was connected. */
export const devices_GetConnectionHistory = handler(
  'devices_GetConnectionHistory',
  ({ db }, { deviceId, ticks, tickSecs }) => readConnectionHistory(db, deviceId, { ticks, tickSecs }),
)
