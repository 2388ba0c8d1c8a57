import { defineJob, HOUR_SECS, RECURRING } from '../../../platform/jobs/define-job.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    instance_CleanupExpired: Record<never, never>
  }
}

/** Removes rows that are no longer needed: the portions that features declare as their `retention`. */
export const instance_CleanupExpired = defineJob({
  name: 'instance_CleanupExpired',
  policy: { ...RECURRING, timeoutSecs: 600, everySecs: HOUR_SECS },
  run: async (context, _data, job) => {
    for (const remove of context.retention) {
      job.signal.throwIfAborted()
      await remove(context, job)
    }
  },
})
