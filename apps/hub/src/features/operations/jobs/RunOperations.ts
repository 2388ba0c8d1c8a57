import { defineJob, RECURRING } from '../../../platform/jobs/define-job.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    devices_RunOperations: Record<never, never>
  }
}

/** Continues operations that are due, such as those of nodes that have stopped. A node looks by itself when one of its own is due. */
export const devices_RunOperations = defineJob({
  name: 'devices_RunOperations',
  policy: { ...RECURRING, timeoutSecs: 600, everySecs: 60, isCancelledByRestore: true },
  run: ({ operations }, _data, { signal, jobId }) => operations.runDue(signal, jobId),
})
