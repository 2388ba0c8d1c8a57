import type { JobWords } from '../instance/shared/words.ts'

/** Words for the jobs of organizations. */
export const organizationJobs: JobWords<'organizations'> = {
  organizations_SendInvitationEmail: { name: 'Send an invitation', failed: 'An invitation was not sent' },
}
