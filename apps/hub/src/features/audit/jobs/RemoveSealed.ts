import { removeSealed } from '../../../platform/audit/seal.ts'
import { defineJob, HOUR_SECS, RECURRING } from '../../../platform/jobs/define-job.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    audit_RemoveSealed: Record<never, never>
  }
}

/** Removes sealed (hashed and signed) audit rows older than `MUSTER_AUDIT_RETENTION_DAYS`. Without the setting all rows are kept. */
export const audit_RemoveSealed = defineJob({
  name: 'audit_RemoveSealed',
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: 24 * HOUR_SECS },
  run: async ({ db, key, log, auditRetentionDays }) => {
    if (auditRetentionDays !== undefined) await removeSealed(db, key, auditRetentionDays, log)
  },
})
