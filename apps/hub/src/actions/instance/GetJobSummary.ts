import { summarizeJobs } from '../../database/queries/jobs/job-summary.ts'
import { handler } from '../../handler.ts'

/** Counts the background jobs of the last 24 hours by status and summarizes each kind. */
export const jobs_GetSummary = handler('jobs_GetSummary', ({ db }) => summarizeJobs(db))
