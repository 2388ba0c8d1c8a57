import type { JobWords } from '../instance/shared/words.ts'

/** Words for the jobs of labels. */
export const labelJobs: JobWords<'labels'> = {
  devices_MoveReportedLabels: {
    name: 'Move reported labels',
    failed: 'What devices had written as their labels cannot be moved',
  },
}
