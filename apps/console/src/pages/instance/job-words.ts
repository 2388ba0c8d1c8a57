import { type JobWords, NOT_LOST } from './shared/words.ts'

/** Words for the jobs of the instance. */
export const instanceJobs: JobWords<'instance'> = {
  instance_CleanupExpired: {
    name: 'Remove expired sessions and links',
    failed: 'Expired sessions and links cannot be removed',
    harm: NOT_LOST,
  },
  instance_SampleSize: {
    name: 'Sample the size of the database',
    failed: 'The size of the database is not sampled',
  },
  instance_MaintainPartitions: {
    name: 'Maintain partitions',
    failed: 'Partitions of the coming days cannot be created',
    harm: 'Events are still stored, but old ones are not removed.',
  },
}
