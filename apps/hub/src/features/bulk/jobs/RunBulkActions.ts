import { defineJob, RECURRING } from '../../../platform/jobs/define-job.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    devices_RunBulkActions: Record<never, never>
  }
}

/** Runs bulk actions until none is due. */
export const devices_RunBulkActions = defineJob({
  name: 'devices_RunBulkActions',
  // A large bulk action queues this job when it starts. The run every 5 min continues bulk actions of nodes that have stopped.
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: 5 * 60, isCancelledByRestore: true },
  run: ({ bulkActions }, _data, { signal, jobId }) => bulkActions.runDue(signal, jobId),
})
