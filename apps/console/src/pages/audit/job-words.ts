import { type JobWords, NOT_LOST } from '../instance/shared/words.ts'

/** Words for the jobs of the audit log. */
export const auditJobs: JobWords<'audit'> = {
  audit_SealRows: {
    name: 'Seal audit rows',
    failed: 'Audit rows are not sealed',
    harm: 'They wait for the next run.',
  },
  audit_RemoveSealed: {
    name: 'Remove old audit rows',
    failed: 'Old audit rows cannot be removed',
    harm: NOT_LOST,
  },
  audit_VerifySeals: { name: 'Verify seals', failed: 'The seals cannot be verified' },
}
