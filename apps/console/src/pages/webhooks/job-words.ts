import type { JobWords } from '../instance/shared/words.ts'

/** Words for the jobs of webhooks and the feed of events. */
export const webhookJobs: JobWords<'webhooks'> = {
  webhooks_SendOffEmail: {
    name: 'Mail that a webhook is off',
    failed: 'An administrator does not learn that a webhook was turned off',
  },
  webhooks_MaintainOutbox: {
    name: 'Maintain the outbox',
    failed: 'Messages older than 30 days stay stored, and those of coming days go to one partition',
  },
}
