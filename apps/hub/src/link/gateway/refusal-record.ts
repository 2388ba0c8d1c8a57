import { Batcher } from '@muster/concurrency'
import type pg from 'pg'
import { BATCHED_WRITES } from '../../platform/database/client/batched-writes.ts'

type Refused = { tokenId: string; deviceId: string | undefined; reason: string; address: string }
/**
 * Refusals of one token or device within a batch. `count` is the number of consecutive refusals with the last reason. If `isOnly` is
 * true, the batch has no other reason, and `count` is added to the stored count if the stored reason is the same. `latest` has the
 * newest refusals, at most `KEPT`, the newest first.
 */
type Tally = {
  reason: string
  count: number
  isOnly: boolean
  latest: Pick<Refused, 'reason' | 'address'>[]
}

/** Number of refusals that are kept for each device. */
const KEPT = 10

const RECORD = {
  name: 'refusal-record',
  text: `
    with token_tally as (
      select * from unnest($1::text[], $2::text[], $3::int[], $4::bool[]) as i (token_id, reason, count, is_only)
    ), device_tally as (
      select * from unnest($5::text[], $6::text[], $7::int[], $8::bool[], $9::text[]) as i (device_id, reason, count, is_only, latest)
    ), tokens as (
      update deployment_token t set last_refusal_at = now(), last_refusal_reason = i.reason,
        last_refusal_count = i.count + case when i.is_only and t.last_refusal_reason = i.reason then t.last_refusal_count else 0 end
        from token_tally i where t.token_id = i.token_id
    ), devices as (
      update device d set last_refusal_at = now(), last_refusal_reason = i.reason,
        last_refusal_count = i.count + case when i.is_only and d.last_refusal_reason = i.reason then d.last_refusal_count else 0 end,
        last_refusal_since = case when i.is_only and d.last_refusal_reason = i.reason then d.last_refusal_since else now() end
        from device_tally i where d.device_id = i.device_id
        returning d.device_id, i.latest::jsonb as latest
    )
    insert into device_refusals as r (device_id, latest)
      select device_id, (
          select jsonb_agg(one || jsonb_build_object('at', now()) order by place)
            from jsonb_array_elements(latest) with ordinality as e (one, place))
        from devices
      on conflict (device_id) do update set latest = (
        select jsonb_agg(one order by place)
          from jsonb_array_elements(excluded.latest || r.latest) with ordinality as e (one, place) where place <= ${KEPT})`,
}

/**
 * Stores the last refusal of each token and device, with the number of times that it occurred consecutively, and the latest refusals of
 * each device (docs/decisions.md, "Tokens and enrolment"). When many connections are refused at the same time, many refusals concern the
 * row of one token, so they are counted in memory and written in batches.
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
    for (const refused of refusals) {
      count(tokens, refused.tokenId, refused)
      if (refused.deviceId !== undefined) count(devices, refused.deviceId, refused)
    }
    const latest = [...devices.values()].map(tally => JSON.stringify(tally.latest))
    await this.#pool.query(RECORD, [...columns(tokens), ...columns(devices), latest])
  }
}

function count(tallies: Map<string, Tally>, id: string, { reason, address }: Refused): void {
  const before = tallies.get(id)
  const isSame = before?.reason === reason
  tallies.set(id, {
    reason,
    count: isSame ? before.count + 1 : 1,
    isOnly: isSame ? before.isOnly : before === undefined,
    latest: [{ reason, address }, ...(before?.latest ?? [])].slice(0, KEPT),
  })
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
