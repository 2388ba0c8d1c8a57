import { Batcher } from '@muster/concurrency'
import type pg from 'pg'
import { BATCHED_WRITES } from '../database/client/batched-writes.ts'

type Refused = { tokenId: string; deviceId: string | undefined; reason: string }
/**
 * Refusals of one token or device within a batch. `count` is the number of consecutive refusals with the last reason. If `isOnly` is
 * true, the batch has no other reason, and `count` is added to the stored count if the stored reason is the same.
 */
type Tally = { reason: string; count: number; isOnly: boolean }

const RECORD = {
  name: 'refusal-record',
  text: `
    with token_tally as (
      select * from unnest($1::text[], $2::text[], $3::int[], $4::bool[]) as i (token_id, reason, count, is_only)
    ), device_tally as (
      select * from unnest($5::text[], $6::text[], $7::int[], $8::bool[]) as i (device_id, reason, count, is_only)
    ), tokens as (
      update deployment_token t set last_refusal_at = now(), last_refusal_reason = i.reason,
        last_refusal_count = i.count + case when i.is_only and t.last_refusal_reason = i.reason then t.last_refusal_count else 0 end
        from token_tally i where t.token_id = i.token_id
    )
    update device d set last_refusal_at = now(), last_refusal_reason = i.reason,
      last_refusal_count = i.count + case when i.is_only and d.last_refusal_reason = i.reason then d.last_refusal_count else 0 end
      from device_tally i where d.device_id = i.device_id`,
}

/**
 * Stores the last refusal of each token and device, with the number of times that it occurred consecutively (docs/decisions.md, "Tokens
 * and enrolment"). When many connections are refused at the same time, many refusals concern the row of one token, so they are counted in
 * memory and written in batches.
 */
export class RefusalRecord {
  readonly #pool: pg.Pool
  readonly #refusals: Batcher<Refused>

  constructor(pool: pg.Pool) {
    this.#pool = pool
    this.#refusals = new Batcher({
      ...BATCHED_WRITES,
      parallel: 1,
      maxBatch: 5_000,
      maxWaiting: 50_000,
      retryForMs: 10_000,
      weigh: () => 1,
      write: refusals => this.#write(refusals),
    })
  }

  /** Resolves when the refusal is recorded. */
  add(refused: Refused): Promise<void> {
    return this.#refusals.add(refused)
  }

  async #write(refusals: Refused[]): Promise<void> {
    const tokens = new Map<string, Tally>()
    const devices = new Map<string, Tally>()
    for (const { tokenId, deviceId, reason } of refusals) {
      count(tokens, tokenId, reason)
      if (deviceId !== undefined) count(devices, deviceId, reason)
    }
    await this.#pool.query(RECORD, [...columns(tokens), ...columns(devices)])
  }
}

function count(tallies: Map<string, Tally>, id: string, reason: string): void {
  const before = tallies.get(id)
  if (before?.reason === reason) before.count++
  else tallies.set(id, { reason, count: 1, isOnly: before === undefined })
}

function columns(tallies: Map<string, Tally>): unknown[][] {
  const all = [...tallies.values()]
  return [
    [...tallies.keys()],
    all.map(({ reason }) => reason),
    all.map(({ count }) => count),
    all.map(({ isOnly }) => isOnly),
  ]
}
