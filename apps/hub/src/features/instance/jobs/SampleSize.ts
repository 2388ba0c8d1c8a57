import { defineJob, HOUR_SECS, RECURRING } from '../../../platform/jobs/define-job.ts'
import { sampleDatabaseSize } from '../health.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    instance_SampleSize: Record<never, never>
  }
}

/** Stores the size of the database once a day. The dashboard of the administration shows how it grows. */
export const instance_SampleSize = defineJob({
  name: 'instance_SampleSize',
  policy: { ...RECURRING, timeoutSecs: 120, everySecs: 24 * HOUR_SECS },
  run: ({ db }) => sampleDatabaseSize(db),
})
