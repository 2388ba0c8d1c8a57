import { jobHandler } from '../../../platform/jobs/job-handler.ts'

/** Removes the bytes of deleted blobs, blobs that were never uploaded, and stray files. */
export const repositories_SweepBlobs = jobHandler('repositories_SweepBlobs', ({ blobs }, _data, job) =>
  blobs.sweep.run(job),
)
