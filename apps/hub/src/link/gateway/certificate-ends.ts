import { Batcher } from '@muster/concurrency'
import type pg from 'pg'
import { BATCHED_WRITES } from '../../platform/database/client/batched-writes.ts'
import type { Logger } from '../../platform/runtime/log.ts'

type End = { certificateId: string; expiresAt: Date }

const RECORD = {
  name: 'certificate-ends',
  text: `
    update device_certificate c set expires_at = i.expires_at
      from unnest($1::text[], $2::timestamptz[]) as i (certificate_id, expires_at)
     where c.certificate_id = i.certificate_id and c.expires_at is null`,
}

/** Time for which a batch is tried again, in milliseconds. A later connection of the device records the end otherwise. */
const RETRY_MS = 30_000

/**
 * Creates the function that records the ends of certificates that were stored without them: by releases that recorded none, and by people,
 * who add fingerprints only. It never waits and never throws.
 */
export function certificateEnds(pool: pg.Pool, log: Logger): (end: End) => void {
  const ends = new Batcher<End>({
    ...BATCHED_WRITES,
    parallel: 1,
    maxBatch: 500,
    maxWaiting: 50_000,
    lingerMs: 100,
    retryForMs: RETRY_MS,
    weigh: () => 1,
    write: async batch => {
      await pool.query(RECORD, [
        batch.map(({ certificateId }) => certificateId),
        batch.map(({ expiresAt }) => expiresAt),
      ])
    },
    onGivenUp: error => log.warn({ err: error }, 'ends of certificates were not stored'),
  })
  return end => void ends.add(end).catch(() => {})
}
