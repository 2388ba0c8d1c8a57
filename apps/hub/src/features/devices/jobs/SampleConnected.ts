import { defineJob, RECURRING } from '../../../platform/jobs/define-job.ts'
import { sampleConnected } from '../../projects/index.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    projects_SampleConnected: Record<never, never>
  }
}

/** Stores the device counts of each project, and samples its connected devices. The console draws the last 24 h of samples as a line. */
export const projects_SampleConnected = defineJob({
  name: 'projects_SampleConnected',
  // A project gets one count in 10 minutes. The job runs twice as often, so that a late run leaves no gap.
  policy: { ...RECURRING, timeoutSecs: 120, everySecs: 5 * 60 },
  run: ({ db }) => sampleConnected(db),
})
