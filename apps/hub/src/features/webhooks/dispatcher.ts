import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { isConnectionError } from '../../platform/database/client/errors.ts'
import type { LimitValues } from '../../platform/limits/limits.ts'
import type { LiveHub } from '../../platform/live/live-hub.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import { PROBE_AFTER } from './delivery-state.ts'

/** Interval in milliseconds at which a node looks for messages that other nodes have committed. */
const EVERY_MS = 1_000
/** Interval in milliseconds at which a node without any reader looks whether another node has got one. */
const IDLE_MS = 10_000
/** Messages that one transaction numbers. It takes some 20 ms, for which another node waits at most. */
const BATCH = 1_000

/** Newest position of an organization. */
export type Position = { organizationId: string; position: number }

/**
 * Numbers messages of the outbox. Only committed messages are seen, and one node numbers at a time, under an advisory lock until its commit.
 * So whoever sees a position also sees all lower positions of the organization, and no later commit adds one below. A message is numbered
 * once: after a `kill -9` it either has its number, or is found without one.
 */
export class Dispatcher implements AsyncDisposable {
  readonly #db: Db
  readonly #limits: LimitValues
  readonly #live: LiveHub
  readonly #log: Logger
  readonly #listeners: ((positions: readonly Position[]) => void)[] = []
  #timer: NodeJS.Timeout | undefined
  #ignoreLog: () => void = () => {}
  #running: Promise<void> | undefined
  #isDue = false
  #isClosed = false
  /** Monotonic time before which a node without readers does not look again, in milliseconds. */
  #idleUntilMs = 0

  constructor({ db, live, limits, log }: { db: Db; live: LiveHub; limits: LimitValues; log: Logger }) {
    this.#db = db
    this.#limits = limits
    this.#live = live
    this.#log = log
  }

  /** Begins to number messages: once a second, and after each commit of this node that adds to the log of an organization. */
  start(): void {
    this.#timer = setInterval(() => this.wake(), EVERY_MS)
    this.#ignoreLog = this.#live.onLog(() => this.wake())
  }

  /** Calls `listener` after each commit with the newest position of each organization that got messages. */
  onNumbered(listener: (positions: readonly Position[]) => void): void {
    this.#listeners.push(listener)
  }

  /** Numbers messages now. A node without readers ignores it for up to 10 s. */
  wake(): void {
    if (performance.now() < this.#idleUntilMs || this.#isClosed) return
    this.#isDue = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Looks again whether there are readers. Called after the commit of a change of readers. */
  readersChanged(): void {
    this.#idleUntilMs = 0
    this.wake()
  }

  async #run(): Promise<void> {
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false
      try {
        while (!this.#isClosed && (await this.#runOnce()) === BATCH) {}
      } catch (error) {
        // The next run is a second later. A broken connection is reported by its owner.
        if (!isConnectionError(error) && !this.#isClosed)
          this.#log.warn({ err: error }, 'messages of the outbox were not numbered')
        return
      }
    }
  }

  /** Numbers up to `BATCH` messages. Resolves to their number. */
  async #runOnce(): Promise<number> {
    // The order makes PostgreSQL read the index of unnumbered messages. For `exists` it reads a whole partition without statistics.
    const { rows } = await sql<{ hasReaders: boolean; hasNew: boolean }>`
      select exists (select from outbox_reader where is_copied) as "hasReaders",
             (select message_id from outbox where position is null
               order by created_at, message_id limit 1) is not null as "hasNew"`.execute(this.#db)
    const { hasReaders, hasNew } = rows[0]!
    if (!hasReaders && !hasNew) this.#idleUntilMs = performance.now() + IDLE_MS
    if (!hasNew) return 0
    const numbered = await this.#db.transaction().execute(async tx => {
      const { rows: locks } = await sql<{ isFree: boolean }>`
        select pg_try_advisory_xact_lock(hashtext('muster.outbox')) as "isFree"`.execute(tx)
      return locks[0]!.isFree ? numberMessages(tx, BATCH, this.#limits['webhook-waiting-messages']) : []
    })
    if (numbered.length > 0) for (const listener of this.#listeners) listener(numbered)
    return numbered.reduce((sum, { count }) => sum + count, 0)
  }

  /** Stops, after the transaction in flight. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#ignoreLog()
    await this.#running
  }
}

/**
 * Gives the next positions of their organizations to up to `limit` messages, in the order of their times, and makes a delivery for each webhook
 * that wants them. Beyond `maxWaiting` waiting messages of a webhook, further ones are counted as dropped. The caller holds the lock of
 * dispatchers, in an earlier statement, so that this one sees what the dispatcher before has committed.
 */
async function numberMessages(
  tx: Tx,
  limit: number,
  maxWaiting: number,
): Promise<(Position & { count: number })[]> {
  const { rows } = await sql<Position & { count: number }>`
    with fresh as materialized (
      select created_at, message_id, organization_id,
             row_number() over (partition by organization_id order by created_at, message_id) as nth
        from (select created_at, message_id, organization_id from outbox where position is null
               order by created_at, message_id limit ${limit}) o),
    counts as materialized (select organization_id, count(*) as added from fresh group by organization_id),
    counted as (
      insert into outbox_position as p (organization_id, last_position)
      select organization_id, added from counts
      on conflict (organization_id) do update set last_position = p.last_position + excluded.last_position
      returning organization_id, last_position),
    numbered as (
      update outbox o set position = p.last_position - c.added + f.nth
        from fresh f join counts c on c.organization_id = f.organization_id
        join counted p on p.organization_id = f.organization_id
       where o.created_at = f.created_at and o.message_id = f.message_id
      returning o.organization_id, o.project_id, o.message_id, o.created_at, o.type, o.position),
    targets as (
      select w.webhook_id, n.message_id, n.created_at, n.type, n.position,
             row_number() over (partition by w.webhook_id order by n.position) as nth
        from numbered n join webhook w on w.organization_id = n.organization_id and w.is_enabled
         and (w.project_id is null or w.project_id = n.project_id)
         and (w.types is null or n.type = any (w.types) or split_part(n.type, '.', 1) || '.*' = any (w.types))),
    made as (
      insert into webhook_delivery (webhook_id, message_id, created_at, type, position)
      select t.webhook_id, t.message_id, t.created_at, t.type, t.position
        from targets t join webhook_queue q on q.webhook_id = t.webhook_id and q.waiting + t.nth <= ${maxWaiting}
      on conflict do nothing returning webhook_id),
    queued as (
      update webhook_queue q set waiting = q.waiting + t.made, dropped = q.dropped + t.wanted - t.made,
             due_at = case when q.failures >= ${PROBE_AFTER} then coalesce(q.due_at, now()) else least(q.due_at, now()) end
        from (select t.webhook_id, count(*)::int as wanted,
                     (select count(*)::int from made m where m.webhook_id = t.webhook_id) as made
                from targets t group by t.webhook_id) t
       where q.webhook_id = t.webhook_id)
    select organization_id as "organizationId", max(position) as position, count(*)::int as count
      from numbered group by organization_id`.execute(tx)
  return rows
}
