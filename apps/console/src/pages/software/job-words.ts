import type { JobWords } from '../instance/jobs/words.ts'

/** Words for the jobs of software. */
export const softwareJobs: JobWords<'software'> = {
  projects_SampleSoftware: {
    name: 'Sample software',
    failed: 'The history of versions gets no new counts',
  },
}
