import { sampleConnected } from '../database/queries/projects/project-status.ts'
import { jobHandler } from './job-handler.ts'

/** Samples the number of connected devices of each project with many devices. The console draws the samples of the last 24 h as a line. */
export const projects_SampleConnected = jobHandler('projects_SampleConnected', ({ db }) =>
  sampleConnected(db),
)
