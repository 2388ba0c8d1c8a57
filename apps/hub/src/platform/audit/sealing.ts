import { type Db, select } from '../database/client/connection.ts'
import { wireTime } from '../runtime/times.ts'

/** Key of the row in `instance_setting` that stores the result of the last verification of seals. */
export const VERIFICATION = 'audit.verification'

/** Result of the daily verification of new seals (signed hashes of audit rows). `problem` describes the first difference. */
export type Verification = { verifiedAt: string; seal: number; hash: string; problem?: string }

type SealingRow = {
  sealNo: number | null
  sealedAt: Date | null
  newestAt: Date | null
  verified: Verification | null
}

const SEALING = `
  select s.seal_no as "sealNo", s.sealed_at as "sealedAt", s.newest_at as "newestAt", v.value as verified
    from (select 1) one
    left join (select * from audit_seal order by seal_no desc limit 1) s on true
    left join instance_setting v on v.key = $1`

/**
 * Returns the newest seal and the result of the last verification. If the verification found rows that do not match their seal,
 * their description is returned only for the log of the instance, because it contains ids of rows of all organizations.
 */
export async function readSealing(db: Db, isInstance: boolean) {
  const [row] = await select<SealingRow>(db, SEALING, [VERIFICATION])
  const { sealNo, sealedAt, newestAt, verified } = row!
  return {
    ...(sealNo !== null && {
      newest: { sealNo, sealedAt: wireTime(sealedAt!), newestAt: wireTime(newestAt!) },
    }),
    ...(verified && {
      verified: {
        verifiedAt: verified.verifiedAt,
        sealNo: verified.seal,
        isIntact: verified.problem === undefined,
        ...(isInstance && verified.problem !== undefined && { problem: verified.problem }),
      },
    }),
  }
}
