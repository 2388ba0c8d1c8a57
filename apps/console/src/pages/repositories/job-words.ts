import { type JobWords, NOT_LOST } from '../instance/shared/words.ts'

/** Words for the jobs of repositories. */
export const repositoryJobs: JobWords<'repositories'> = {
  repositories_SweepBlobs: {
    name: 'Remove unused files',
    failed: 'Unused files cannot be removed',
    harm: NOT_LOST,
  },
}
