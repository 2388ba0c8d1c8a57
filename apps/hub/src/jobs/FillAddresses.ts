import { fillAddresses } from '../database/queries/devices/device-addresses.ts'
import { jobHandler } from './job-handler.ts'

/** Devices per statement. The statement reads only versions; the system information is read one device at a time. */
const PORTION = 500

/**
 * Writes the missing rows of `device_address`, for example for devices that reported before an upgrade of the hub. Each device is committed
 * by itself and devices with current rows are skipped, so an attempt continues the work of an interrupted attempt.
 */
export const devices_FillAddresses = jobHandler(
  'devices_FillAddresses',
  async ({ db }, _data, { signal }) => {
    let last: string | undefined = ''
    while (last !== undefined) {
      signal.throwIfAborted()
      last = await fillAddresses(db, last, PORTION)
    }
  },
)
