import { every } from '@muster/concurrency'
import { sql } from 'kysely'
import type { Db } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'

/** Minimum time between two writes of the last use of the same token, in milliseconds. */
const REST_MS = 60_000
/** Interval at which uses are written, in milliseconds. The first use of a token appears in lists after at most this time. */
const SWEEP_MS = 1_000
/** Limit of tokens in memory. Uses of further tokens are not recorded until there is room. */
const MAX_TOKENS = 10_000

type Use = { at: Date; address: string | undefined }
/** `use` is the newest use that has not been written yet. */
type Entry = { use: Use | undefined; restsUntilMs: number }

/** Records when and from which address each user token was last used. Uses are written in batches, outside of the requests. */
export class TokenUses implements AsyncDisposable {
  readonly #db: Db
  readonly #log: Logger
  readonly #restMs: number
  readonly #entries = new Map<string, Entry>()
  readonly #sweep: AsyncDisposable

  constructor({ db, log, restMs = REST_MS }: { db: Db; log: Logger; restMs?: number }) {
    this.#db = db
    this.#log = log
    this.#restMs = restMs
    this.#sweep = every(
      SWEEP_MS,
      () => this.#write(performance.now()),
      error => this.#log.warn({ err: error }, 'last uses of user tokens were not stored'),
    )
  }

  /** Records a use of a valid token. Never waits and never throws. */
  add(tokenId: string, address: string | undefined): void {
    const use = { at: new Date(), address }
    const entry = this.#entries.get(tokenId)
    if (entry) entry.use = use
    else if (this.#entries.size < MAX_TOKENS) this.#entries.set(tokenId, { use, restsUntilMs: 0 })
  }

  async #write(nowMs: number): Promise<void> {
    const uses: ({ tokenId: string } & Use)[] = []
    for (const [tokenId, entry] of this.#entries) {
      if (entry.restsUntilMs > nowMs) continue
      if (!entry.use) {
        this.#entries.delete(tokenId)
        continue
      }
      uses.push({ tokenId, ...entry.use })
      entry.use = undefined
      entry.restsUntilMs = nowMs + this.#restMs
    }
    if (uses.length === 0) return
    await sql`
      update user_token t set last_used_at = i.at, last_used_address = i.address
        from unnest(${uses.map(({ tokenId }) => tokenId)}::text[], ${uses.map(({ at }) => at)}::timestamptz[],
          ${uses.map(({ address }) => address ?? null)}::text[]) as i (token_id, at, address)
       where t.token_id = i.token_id and (t.last_used_at is null or t.last_used_at < i.at)`.execute(this.#db)
  }

  /** Stops the periodic writes, then writes the remaining uses. A failure is logged and not thrown. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sweep[Symbol.asyncDispose]()
    await this.#write(Number.POSITIVE_INFINITY).catch(error =>
      this.#log.warn({ err: error }, 'last uses of user tokens were not stored'),
    )
  }
}
