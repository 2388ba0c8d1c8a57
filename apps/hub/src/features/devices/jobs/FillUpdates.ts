import { fillUpdates } from '../../../link/telemetry/device-updates.ts'
import { fillInPortions } from '../../../platform/jobs/fill-portions.ts'
import { jobHandler } from '../../../platform/jobs/job-handler.ts'

/** Devices per portion. A value has up to 1 MiB, so one portion reads up to 50 MiB. */
const PORTION = 50

/**
 * Writes the missing rows of `device_update`, for example for devices that reported before an upgrade of the hub. Each portion is committed
 * by itself, and existing rows are skipped.
 */
export const devices_FillUpdates = jobHandler('devices_FillUpdates', (context, _data, { signal }) =>
  fillInPortions(context, signal, {
    job: 'devices_FillUpdates',
    portion: PORTION,
    fill: (last, portion) => fillUpdates(context.db, last, portion),
  }),
)
