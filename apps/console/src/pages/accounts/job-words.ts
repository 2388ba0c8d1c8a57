import type { JobWords } from '../instance/shared/words.ts'

/** Words for the jobs of accounts. */
export const accountJobs: JobWords<'accounts'> = {
  users_SendRegistrationEmail: { name: 'Send an activation link', failed: 'An activation link was not sent' },
  users_SendPasswordEmail: {
    name: 'Send a link to set a password',
    failed: 'A link to set a password was not sent',
  },
  users_SendPasswordChangedEmail: {
    name: 'Report a new password',
    failed: 'The mail about a new password was not sent',
  },
  users_SendEmailChangeEmail: {
    name: 'Send a link to confirm an address',
    failed: 'A link to confirm an address was not sent',
  },
  users_SendEmailChangeNotice: {
    name: 'Report an asked change of an address',
    failed: 'The mail about an asked change of an address was not sent',
  },
  users_SendEmailChangedEmail: {
    name: 'Report a new address',
    failed: 'The mail about a new address was not sent',
  },
  users_FillCanonicalEmails: {
    name: 'Copy addresses of accounts',
    failed: 'Addresses of accounts cannot be copied in their canonical form',
    harm: 'Accounts from before an upgrade are found by the former rules.',
  },
}
