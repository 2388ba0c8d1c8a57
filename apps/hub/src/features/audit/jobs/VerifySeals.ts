import { SealKeys } from '../../../platform/audit/chain.ts'
import { verifyNewSeals } from '../../../platform/audit/verification.ts'
import { jobHandler } from '../../../platform/jobs/job-handler.ts'

/** Verifies the seals (signed hashes of audit rows) since the last run. Stores the result, which the console shows with the audit log. */
export const audit_VerifySeals = jobHandler(
  'audit_VerifySeals',
  async ({ db, pool, log, key, previousKey }, _data, { signal }) =>
    verifyNewSeals({ db, pool, log }, new SealKeys(key, previousKey), signal),
)
