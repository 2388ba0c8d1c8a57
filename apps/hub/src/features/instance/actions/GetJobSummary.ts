import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { summarizeJobs } from '../job-summary.ts'

/**
 * Counts the background jobs of the last 24 hours by status and summarizes each kind. If this takes more than 2 s, the answer has only
 * zeros and `tookTooLong`.
 */
export const jobs_GetSummary = handler(
  'jobs_GetSummary',
  async ({ db, signal }) =>
    (await tryBrief(db, signal, summarizeJobs)) ?? {
      since: new Date().toISOString(),
      total: 0,
      counts: { Pending: 0, Completed: 0, Failed: 0, Expired: 0, Cancelled: 0 },
      isCut: false,
      kinds: [],
      tookTooLong: true as const,
    },
)
