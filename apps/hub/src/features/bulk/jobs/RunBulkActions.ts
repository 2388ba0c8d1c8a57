import { jobHandler } from '../../../platform/jobs/job-handler.ts'

/** Runs bulk actions until none is due. */
export const devices_RunBulkActions = jobHandler(
  'devices_RunBulkActions',
  ({ bulkActions }, _data, { signal, jobId }) => bulkActions.runDue(signal, jobId),
)
