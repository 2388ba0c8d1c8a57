import { defineJob, RECURRING } from '../../../platform/jobs/define-job.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    repositories_SweepBlobs: Record<never, never>
  }
}

/** Removes the bytes of deleted blobs, blobs that were never uploaded, and stray files. */
export const repositories_SweepBlobs = defineJob({
  name: 'repositories_SweepBlobs',
  // An unreachable object store costs a timeout for each blob, so the job may take minutes.
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: 10 * 60 },
  run: ({ blobs }, _data, job) => blobs.sweep.run(job),
})
