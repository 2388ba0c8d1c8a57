import { sampleConnected } from '../database/queries/projects/project-status.ts'
import { jobHandler } from './job-handler.ts'

/** Adds the number of connected devices to the line of the last 24 h of each project with many devices. */
export const projects_SampleConnected = jobHandler('projects_SampleConnected', ({ db }) =>
  sampleConnected(db),
)
