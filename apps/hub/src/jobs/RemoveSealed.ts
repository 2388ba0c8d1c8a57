import { removeSealed } from '../audit/seal.ts'
import { jobHandler } from './job-handler.ts'

/** Removes sealed audit rows older than `MUSTER_AUDIT_RETENTION_DAYS`. Without this setting, audit rows are kept for ever. */
export const audit_RemoveSealed = jobHandler(
  'audit_RemoveSealed',
  async ({ db, key, log, auditRetentionDays }) => {
    if (auditRetentionDays !== undefined) await removeSealed(db, key, auditRetentionDays, log)
  },
)
