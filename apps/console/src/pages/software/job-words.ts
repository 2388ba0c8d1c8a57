import type { JobWords } from '../instance/shared/words.ts'

/** Words for the jobs of software. */
export const softwareJobs: JobWords<'software'> = {
  projects_SampleSoftware: {
    name: 'Sample software',
    failed: 'The history of versions gets no new counts',
  },
}
