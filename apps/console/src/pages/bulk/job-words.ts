import type { JobWords } from '../instance/shared/words.ts'

/** Words for the jobs of bulk actions. */
export const bulkJobs: JobWords<'bulk'> = {
  devices_RunBulkActions: {
    name: 'Run bulk actions',
    failed: 'Bulk actions are paused',
    harm: 'A retry continues with the rest of their lists.',
  },
}
