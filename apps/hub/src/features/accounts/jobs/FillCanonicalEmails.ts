import { jobHandler } from '../../../platform/jobs/job-handler.ts'
import { fillCanonicalEmails } from '../canonical-emails.ts'

/** Accounts per portion. Each account is committed by itself. */
const PORTION = 500

/**
 * Stores the canonical addresses of accounts that have none: of accounts before an upgrade of the hub, and of accounts that nodes of an older
 * release make or change beside this one.
 */
export const users_FillCanonicalEmails = jobHandler(
  'users_FillCanonicalEmails',
  async ({ db }, _data, { signal }) => {
    let last: string | undefined = ''
    while (last !== undefined) {
      signal.throwIfAborted()
      last = await fillCanonicalEmails(db, last, PORTION)
    }
  },
)
