import { fillAddresses } from '../../../link/telemetry/device-addresses.ts'
import { defineJob, HOUR_SECS, RECURRING } from '../../../platform/jobs/define-job.ts'
import { fillInPortions } from '../../../platform/jobs/fill-portions.ts'

/**
 * Devices per portion. It may be large, because the query for a portion reads only version numbers of properties. The system information
 * is read one device at a time.
 */
const PORTION = 500

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    devices_FillAddresses: Record<never, never>
  }
}

/**
 * Writes the missing rows of `device_address`, for example for devices that reported before an upgrade of the hub. Each device is committed
 * by itself, and devices with current rows are skipped.
 */
export const devices_FillAddresses = defineJob({
  name: 'devices_FillAddresses',
  // Like `devices_FillUpdates`, for the rows of `device_address`.
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: HOUR_SECS },
  run: (context, _data, { signal }) =>
    fillInPortions(context, signal, {
      job: 'devices_FillAddresses',
      portion: PORTION,
      fill: (last, portion) => fillAddresses(context.db, last, portion),
    }),
})
