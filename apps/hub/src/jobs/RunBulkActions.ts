import { jobHandler } from './job-handler.ts'

/** Runs the bulk actions that are due, until none is left. */
export const devices_RunBulkActions = jobHandler(
  'devices_RunBulkActions',
  ({ bulkActions }, _data, { signal, jobId }) => bulkActions.runDue(signal, jobId),
)
