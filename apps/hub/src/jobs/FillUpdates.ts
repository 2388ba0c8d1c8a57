import { fillUpdates } from '../database/queries/devices/device-updates.ts'
import { jobHandler } from './job-handler.ts'

/** Devices per statement. A value has up to 1 MiB, so one portion reads up to 50 MiB. */
const PORTION = 50

/**
 * Writes the missing rows of `device_update`, for example for devices that reported before an upgrade of the hub. Each portion is committed
 * by itself and existing rows are skipped, so an attempt continues the work of an interrupted attempt.
 */
export const devices_FillUpdates = jobHandler('devices_FillUpdates', async ({ db }, _data, { signal }) => {
  let last: string | undefined = ''
  while (last !== undefined) {
    signal.throwIfAborted()
    last = await fillUpdates(db, last, PORTION)
  }
})
