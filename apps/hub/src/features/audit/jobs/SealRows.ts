import { sealFinishedRows } from '../../../platform/audit/seal.ts'
import { jobHandler } from '../../../platform/jobs/job-handler.ts'

/** Seals finished audit rows in batches: a signed hash over each batch makes later changes of its rows detectable. */
export const audit_SealRows = jobHandler('audit_SealRows', async ({ db, key, log }) =>
  sealFinishedRows(db, key, log),
)
