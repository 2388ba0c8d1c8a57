import { defineJob, HOUR_SECS, RECURRING } from '../../../platform/jobs/define-job.ts'
import { fillCanonicalEmails } from '../canonical-emails.ts'

/** Accounts per portion. Each account is committed by itself. */
const PORTION = 500

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    users_FillCanonicalEmails: Record<never, never>
  }
}

/**
 * Stores the canonical addresses of accounts that have none: of accounts before an upgrade of the hub, and of accounts that nodes of an older
 * release make or change beside this one.
 */
export const users_FillCanonicalEmails = defineJob({
  name: 'users_FillCanonicalEmails',
  // The first run after an upgrade reads every account. Later runs find accounts that nodes of an older release have made.
  policy: { ...RECURRING, timeoutSecs: 600, everySecs: HOUR_SECS },
  run: async ({ db }, _data, { signal }) => {
    let last: string | undefined = ''
    while (last !== undefined) {
      signal.throwIfAborted()
      last = await fillCanonicalEmails(db, last, PORTION)
    }
  },
})
