import { sealFinishedRows } from '../audit/seal.ts'
import { jobHandler } from './job-handler.ts'

/** Seals finished audit rows in batches. */
export const audit_SealRows = jobHandler('audit_SealRows', async ({ db, key, log }) =>
  sealFinishedRows(db, key, log),
)
