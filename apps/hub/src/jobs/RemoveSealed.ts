import { removeSealed } from '../audit/seal.ts'
import { jobHandler } from './handler.ts'

export const audit_RemoveSealed = jobHandler(
  'audit_RemoveSealed',
  async ({ db, key, log, auditRetentionDays }) => {
    if (auditRetentionDays !== undefined) await removeSealed(db, key, auditRetentionDays, log)
  },
)
