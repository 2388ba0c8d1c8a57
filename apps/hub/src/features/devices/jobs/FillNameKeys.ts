import { defineJob, HOUR_SECS, RECURRING } from '../../../platform/jobs/define-job.ts'
import { fillInPortions } from '../../../platform/jobs/fill-portions.ts'
import { fillProjectNameKeys } from '../../projects/index.ts'
import { fillNameKeys } from '../name-keys.ts'

/** Devices per portion, whose rows one statement changes and locks for a few milliseconds. */
const PORTION = 500

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    devices_FillNameKeys: Record<never, never>
  }
}

/**
 * Makes the keys by which lists sort names, for projects and devices that an older version of the hub has named. Each portion is committed
 * by itself, and devices with a key are skipped.
 */
export const devices_FillNameKeys = defineJob({
  name: 'devices_FillNameKeys',
  // Like `devices_FillUpdates`, for the column `name_key`.
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: HOUR_SECS },
  run: async (context, _data, { signal }) => {
    await fillProjectNameKeys(context.db)
    await fillInPortions(context, signal, {
      job: 'devices_FillNameKeys',
      portion: PORTION,
      fill: (last, portion) => fillNameKeys(context.db, last, portion),
    })
  },
})
