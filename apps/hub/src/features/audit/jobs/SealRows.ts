import { sealFinishedRows } from '../../../platform/audit/seal.ts'
import { defineJob, RECURRING } from '../../../platform/jobs/define-job.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    audit_SealRows: Record<never, never>
  }
}

/** Seals finished audit rows in batches: a signed hash over each batch makes later changes of its rows detectable. */
export const audit_SealRows = defineJob({
  name: 'audit_SealRows',
  policy: { ...RECURRING, timeoutSecs: 120, everySecs: 5 * 60 },
  run: async ({ db, key, log }) => sealFinishedRows(db, key, log),
})
