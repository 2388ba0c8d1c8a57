import { jobHandler } from '../../../platform/jobs/job-handler.ts'
import { sampleDatabaseSize } from '../health.ts'

/** Stores the size of the database once a day. The dashboard of the administration shows how it grows. */
export const instance_SampleSize = jobHandler('instance_SampleSize', ({ db }) => sampleDatabaseSize(db))
