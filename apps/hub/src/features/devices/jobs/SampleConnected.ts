import { jobHandler } from '../../../platform/jobs/job-handler.ts'
import { sampleConnected } from '../../projects/project-status.ts'

/** Stores the device counts of each project, and samples its connected devices. The console draws the last 24 h of samples as a line. */
export const projects_SampleConnected = jobHandler('projects_SampleConnected', ({ db }) =>
  sampleConnected(db),
)
