import { fillUpdates } from '../../../link/telemetry/device-updates.ts'
import { defineJob, HOUR_SECS, RECURRING } from '../../../platform/jobs/define-job.ts'
import { fillInPortions } from '../../../platform/jobs/fill-portions.ts'

/** Devices per portion. A value has up to 1 MiB, so one portion reads up to 50 MiB. */
const PORTION = 50

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    devices_FillUpdates: Record<never, never>
  }
}

/**
 * Writes the missing rows of `device_update`, for example for devices that reported before an upgrade of the hub. Each portion is committed
 * by itself, and existing rows are skipped.
 */
export const devices_FillUpdates = defineJob({
  name: 'devices_FillUpdates',
  // The first run after an upgrade of the hub adds a row of `device_update` for every device, which takes minutes for a large
  // fleet. Later runs read a bounded number of devices each.
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: HOUR_SECS },
  run: (context, _data, { signal }) =>
    fillInPortions(context, signal, {
      job: 'devices_FillUpdates',
      portion: PORTION,
      fill: (last, portion) => fillUpdates(context.db, last, portion),
    }),
})
