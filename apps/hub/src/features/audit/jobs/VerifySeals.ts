import { SealKeys } from '../../../platform/audit/chain.ts'
import { verifyNewSeals } from '../../../platform/audit/verification.ts'
import { defineJob, HOUR_SECS, RECURRING } from '../../../platform/jobs/define-job.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    audit_VerifySeals: Record<never, never>
  }
}

/** Verifies the seals (signed hashes of audit rows) since the last run. Stores the result, which the console shows with the audit log. */
export const audit_VerifySeals = defineJob({
  name: 'audit_VerifySeals',
  // The first run verifies the whole chain. The result of each portion is stored, so a later run continues where an attempt ended.
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: 24 * HOUR_SECS },
  run: async ({ db, pool, log, key, previousKey }, _data, { signal }) =>
    verifyNewSeals({ db, pool, log }, new SealKeys(key, previousKey), signal),
})
