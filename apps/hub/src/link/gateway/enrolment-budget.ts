import { randomInt } from 'node:crypto'
import { Batcher } from '@muster/concurrency'
import type pg from 'pg'
import { BATCHED_WRITES } from '../../platform/database/client/batched-writes.ts'
import { LimitReached } from '../../platform/limits/limit-reached.ts'
import type { LimitValues } from '../../platform/limits/limits.ts'
import type { RateLimits } from '../../platform/limits/rate-limits.ts'
import { Refusal, type RefusalSubject } from './refusal.ts'

/** A new device that requests enrolment. `address` is its client IP. `about` holds the ids under which its refusal is recorded. */
export type NewDevice = {
  tokenId: string
  address: string
  /** The token's own budget. Null means the default of the hub. */
  ownBudget: { atOnce: number | null; perHour: number | null }
  about: RefusalSubject
}

type BudgetRequest = NewDevice & { refusal?: Refusal }

/** Result of the statement `TAKE` for one token. */
type TokenRow = {
  is_expired: boolean
  device_limit: number
  enrolled_devices: number
  at_once: number
  per_hour: number
  /** Number of new devices that counted against the budget before the statement. */
  used: number
  /** Number of new devices that the statement allowed. */
  granted: number
}

// The row lock serializes the statements of several nodes. Each statement reads the newest version of the row.
const TAKE = {
  name: 'enrolment-take',
  text: `
    with token as materialized (
      select t.token_id, coalesce(t.expires_at <= now(), false) as is_expired, t.enrolled_devices,
             coalesce(t.device_limit, $5::int) as device_limit,
             coalesce(t.new_devices_at_once, $3::int) as at_once,
             coalesce(t.new_devices_per_hour, $4::int) as per_hour,
             greatest(0, t.budget_used - greatest(0, extract(epoch from clock_timestamp() - t.budget_at)::float8)
               * coalesce(t.new_devices_per_hour, $4::int) / 3600) as used
        from deployment_token t where t.token_id = $1 for no key update
    ), taken as materialized (
      select token.*, case when is_expired then 0
               else greatest(0, least($2::int, floor(at_once - used)::int, device_limit - enrolled_devices)) end as granted
        from token
    )
    update deployment_token t
       set budget_used = k.used + k.granted, budget_at = clock_timestamp(),
           enrolled_devices = t.enrolled_devices + k.granted, refused_devices = t.refused_devices + $2::int - k.granted
      from taken k where t.token_id = k.token_id
    returning k.is_expired, k.device_limit, k.enrolled_devices, k.at_once, k.per_hour, k.used, k.granted`,
}

const GIVE_BACK = {
  name: 'enrolment-give-back',
  text: `
    update deployment_token set budget_used = greatest(0, budget_used - 1), enrolled_devices = greatest(0, enrolled_devices - 1)
     where token_id = $1`,
}

/** Window in which the new devices of a client IP are counted, in seconds. */
const ADDRESS_WINDOW_SECS = 3600
/** Maximum `Retry-After`, in seconds. Muster's agent waits no longer than this (docs/protocol.md 1.6). */
const MAX_RETRY_AFTER_SECS = 3600
/**
 * Upper bound of the random time that is added to `Retry-After`, in seconds, so that refused devices retry at different times. The first
 * refused device of a batch gets no addition.
 */
const SPREAD_SECS = 60
/**
 * Minimum time between the starts of two batches of requests, in milliseconds. Requests that arrive in this time share one update of the
 * token's row.
 */
const LINGER_MS = 20

/**
 * Budget for new devices. It is checked before any row of a device is written. The row of the deployment token stores the state
 * of a token bucket, so the budget survives restarts and is shared by all nodes. Requests that arrive while a statement is in
 * flight share the next statement. New devices of a client IP are counted in memory.
 */
export class EnrolmentBudget {
  readonly #pool: pg.Pool
  readonly #values: LimitValues
  readonly #rates: RateLimits
  readonly #newDevices: Batcher<BudgetRequest>
  /** End of the last statement for each token with statements in flight. */
  readonly #turns = new Map<string, Promise<void>>()

  constructor({ pool, values, rates }: { pool: pg.Pool; values: LimitValues; rates: RateLimits }) {
    this.#pool = pool
    this.#values = values
    this.#rates = rates
    this.#newDevices = new Batcher({
      ...BATCHED_WRITES,
      // With several statements in parallel, a token whose row stays locked delays only the batch that contains it.
      parallel: 4,
      maxBatch: 1_000,
      maxWaiting: 20_000,
      lingerMs: LINGER_MS,
      retryForMs: 10_000,
      weigh: () => 1,
      write: newDevices => this.#take(newDevices),
    })
  }

  /** Takes one new device from the budgets of its client IP and its token. Throws `Refusal` when either budget is used up. */
  async take(newDevice: NewDevice): Promise<void> {
    const { address, ownBudget, about } = newDevice
    const { 'token-new-devices': atOnce, 'token-new-devices-per-hour': perHour } = this.#values
    const ofToken = (ownBudget.atOnce ?? atOnce) + (ownBudget.perHour ?? perHour)
    const max = Math.max(this.#values['address-new-devices'], ofToken)
    const exceeded = await this.#rates.takeWithRate('new device', address, {
      calls: max,
      perSecs: ADDRESS_WINDOW_SECS,
    })
    if (exceeded !== undefined) {
      throw Refusal.of(
        new LimitReached({
          limit: 'address-new-devices',
          subject: { ...subjectOf(about), address },
          max,
          remedy: 'Try again later, or ask the operator of the hub for a higher limit.',
          ...exceeded,
        }),
        about,
      )
    }
    const request: BudgetRequest = { ...newDevice }
    try {
      await this.#newDevices.add(request)
      if (request.refusal) throw request.refusal
    } catch (error) {
      await this.#giveBackOfAddress(address)
      throw error
    }
  }

  /** Undoes `take` after an enrolment that created no device: adds one device to the budgets of the client IP and the token again. */
  async giveBack({ tokenId, address }: Pick<NewDevice, 'tokenId' | 'address'>): Promise<void> {
    await this.#giveBackOfAddress(address)
    await this.#pool.query(GIVE_BACK, [tokenId])
  }

  async #giveBackOfAddress(address: string): Promise<void> {
    await this.#rates.giveBackWithRate('new device', address, ADDRESS_WINDOW_SECS)
  }

  async #take(newDevices: BudgetRequest[]): Promise<void> {
    const byToken = Map.groupBy(newDevices, ({ tokenId }) => tokenId)
    await Promise.all([...byToken].map(([tokenId, requests]) => this.#inTurn(tokenId, requests)))
  }

  /**
   * Runs one statement for a token at a time. Further ones would only wait for the row lock, behind those of other nodes, and hold a
   * connection meanwhile; here the requests that come in the meantime share the next statement.
   */
  async #inTurn(tokenId: string, requests: BudgetRequest[]): Promise<void> {
    const turn = (this.#turns.get(tokenId) ?? Promise.resolve()).then(() =>
      this.#takeForToken(tokenId, requests),
    )
    const settled = turn.catch(() => {})
    this.#turns.set(tokenId, settled)
    try {
      await turn
    } finally {
      if (this.#turns.get(tokenId) === settled) this.#turns.delete(tokenId)
    }
  }

  async #takeForToken(tokenId: string, requests: BudgetRequest[]): Promise<void> {
    const { rows } = await this.#pool.query<TokenRow>(TAKE, [
      tokenId,
      requests.length,
      this.#values['token-new-devices'],
      this.#values['token-new-devices-per-hour'],
      this.#values['token-devices'],
    ])
    const row = rows[0]
    // If the token was deleted after its look-up, the enrolment itself refuses the device.
    if (!row) return
    for (const [index, newDevice] of requests.slice(row.granted).entries())
      newDevice.refusal = refusalFor(row, newDevice.about, index)
  }
}

/**
 * Creates the refusal of the device at position `index` beyond the budget. Its `Retry-After` is the time until the budget has
 * refilled for this device and the devices before it, plus a random time.
 */
function refusalFor(row: TokenRow, about: RefusalSubject, index: number): Refusal {
  if (row.is_expired)
    return new Refusal(
      'token_expired',
      403,
      'Forbidden',
      'the deployment token has expired for new devices',
      about,
    )
  const subject = subjectOf(about)
  if (row.enrolled_devices + row.granted >= row.device_limit) {
    return Refusal.of(
      new LimitReached({
        limit: 'token-devices',
        subject,
        max: row.device_limit,
        found: row.enrolled_devices + row.granted + 1,
        remedy: 'Raise the device limit of the token, or use another token.',
      }),
      about,
    )
  }
  const missing = row.used + row.granted + index + 1 - row.at_once
  const refillSecs = Math.max(1, Math.ceil((missing / row.per_hour) * 3600))
  const spreadSecs = index === 0 ? 0 : randomInt(SPREAD_SECS)
  return Refusal.of(
    new LimitReached({
      limit: 'token-new-devices',
      subject,
      max: row.at_once,
      found: Math.ceil(row.used) + row.granted + 1,
      remedy: `Try again later (${row.per_hour} an hour are let in), or raise the budget of the token.`,
      retryAfterSecs: Math.min(MAX_RETRY_AFTER_SECS, refillSecs + spreadSecs),
    }),
    about,
  )
}

function subjectOf({ tokenId, place }: RefusalSubject) {
  return { ...place, ...(tokenId !== undefined && { tokenId }) }
}
