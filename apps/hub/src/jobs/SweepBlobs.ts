import { jobHandler } from './handler.ts'

export const repositories_SweepBlobs = jobHandler('repositories_SweepBlobs', ({ blobs }, _data, job) =>
  blobs.sweep(job),
)
