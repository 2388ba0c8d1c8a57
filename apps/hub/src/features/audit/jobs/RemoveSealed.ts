import { removeSealed } from '../../../platform/audit/seal.ts'
import { jobHandler } from '../../../platform/jobs/job-handler.ts'

/** Removes sealed (hashed and signed) audit rows older than `MUSTER_AUDIT_RETENTION_DAYS`. Without the setting all rows are kept. */
export const audit_RemoveSealed = jobHandler(
  'audit_RemoveSealed',
  async ({ db, key, log, auditRetentionDays }) => {
    if (auditRetentionDays !== undefined) await removeSealed(db, key, auditRetentionDays, log)
  },
)
