import { newDatedId } from '@muster/actions'
import { sql } from 'kysely'
import type { Ingest } from '../../link/telemetry/ingest.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { isConnectionError } from '../../platform/database/client/errors.ts'
import type { LimitValues } from '../../platform/limits/limits.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import { PROBE_AFTER } from './delivery-state.ts'
import { EXPORT_TYPE } from './exports.ts'

/**
 * Interval in milliseconds at which a node makes messages of new events, and learns which projects are exported. So a message has the events of
 * up to 5 s, and a change reaches other nodes within 5 s.
 */
const EVERY_MS = 5_000
/** Events of a message, and bytes of their bodies and attributes. In OTLP these take up to some ten times as many, and collectors take 20 MiB. */
const MAX_EVENTS = 512
const MAX_BYTES = 512 * 1024
/** Rows of `event_export` that one transaction puts into messages. Each has the events of up to one batch of the ingest. */
const ROWS = 2_000

type ExporterOptions = { db: Db; limits: LimitValues; log: Logger; ingest: Ingest }

/**
 * Makes messages out of new events of exported projects. The statement that stores an event also stores its key, and this node only
 * groups committed keys, one node at a time. So no event is missed however late it commits, and each is in one message.
 */
export class Exporter implements AsyncDisposable {
  readonly #options: ExporterOptions
  #onMade: () => void = () => {}
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isDue = false
  #isClosed = false

  constructor(options: ExporterOptions) {
    this.#options = options
  }

  /** Begins to keep the keys of events, and to make messages of them. Calls `onMade` when there are new messages. */
  async start(onMade: () => void): Promise<void> {
    this.#onMade = onMade
    await this.#readProjects()
    this.#timer = setInterval(() => this.wake(), EVERY_MS)
  }

  /** Makes messages now. Called after a change of exports too. */
  wake(): void {
    if (this.#isClosed) return
    this.#isDue = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  async #run(): Promise<void> {
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false
      try {
        await this.#readProjects()
        const { rows } = await sql<{ webhookId: string; projectId: string }>`
          select w.webhook_id as "webhookId", w.project_id as "projectId" from webhook w
           where w.format = 'otlp' and w.is_enabled
             and exists (select from event_export e where e.project_id = w.project_id and e.message_id is null)`.execute(
          this.#options.db,
        )
        for (const found of rows) while (!this.#isClosed && (await this.#makeMessages(found)) === ROWS) {}
      } catch (error) {
        // The next run is 5 s later. A broken connection is reported by its owner.
        if (!isConnectionError(error) && !this.#isClosed)
          this.#options.log.warn({ err: error }, 'events were not put into messages of exports')
        return
      }
    }
  }

  async #readProjects(): Promise<void> {
    const { db, ingest } = this.#options
    const { rows } = await sql<{ id: string }>`
      select project_id as id from webhook where format = 'otlp' and is_enabled`.execute(db)
    ingest.exportEventsOf(new Set(rows.map(({ id }) => id)))
  }

  /** Resolves to the number of rows that were put into messages or dropped. */
  async #makeMessages({ webhookId, projectId }: { webhookId: string; projectId: string }): Promise<number> {
    const { db, limits, log } = this.#options
    const { taken, dropped } = await db.transaction().execute(async tx => {
      const { rows: locks } = await sql<{ isFree: boolean }>`
        select pg_try_advisory_xact_lock(hashtext('muster.event-export')) as "isFree"`.execute(tx)
      return locks[0]!.isFree
        ? makeMessages(tx, { webhookId, projectId }, limits['project-export-waiting-events'])
        : { taken: 0, dropped: 0 }
    })
    if (dropped > 0)
      log.warn({ projectId, webhookId, dropped }, 'events were dropped, because too many wait for an export')
    if (taken > 0) this.#onMade()
    return taken
  }

  /** Stops, after the transaction in flight. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#running
  }
}

type Row = { id: number; count: number; bytes: number }

/**
 * Puts the oldest new events of a project into messages. Beyond `maxWaiting` waiting events, further ones are counted as dropped. The caller
 * holds the lock of exporters, in an earlier statement.
 */
async function makeMessages(
  tx: Tx,
  { webhookId, projectId }: { webhookId: string; projectId: string },
  maxWaiting: number,
): Promise<{ taken: number; dropped: number }> {
  const { rows: queues } = await sql<{ waiting: number }>`
    select waiting from webhook_queue where webhook_id = ${webhookId} for no key update`.execute(tx)
  const { rows } = await sql<Row>`
    select export_id as id, cardinality(event_ids) as count, bytes from event_export
     where project_id = ${projectId} and message_id is null order by export_id limit ${ROWS}`.execute(tx)
  const [queue] = queues
  if (!queue || rows.length === 0) return { taken: 0, dropped: 0 }
  let room = maxWaiting - queue.waiting
  let isFull = false
  const isKept = rows.map(({ count }) => {
    // After the first row without room, no smaller one overtakes it.
    isFull ||= count > room
    if (!isFull) room -= count
    return !isFull
  })
  const kept = rows.filter((_, at) => isKept[at])
  const gone = rows.filter((_, at) => !isKept[at])
  const messages = grouped(kept).map(group => ({ messageId: newDatedId('msg'), group }))
  const added = sumOf(kept)
  const dropped = sumOf(gone)
  await sql`
    with marked as (
      update event_export e set message_id = m.message_id
        from unnest(${messages.flatMap(({ group }) => group.map(({ id }) => id))}::bigint[],
                    ${messages.flatMap(({ messageId, group }) => group.map(() => messageId))}::text[]) as m (export_id, message_id)
       where e.export_id = m.export_id),
    gone as (delete from event_export where export_id = any (${gone.map(({ id }) => id)}::bigint[])),
    made as (
      insert into webhook_delivery (webhook_id, message_id, created_at, type, position, items)
      select ${webhookId}, m.message_id, now(), ${EXPORT_TYPE}, m.position, m.items
        from unnest(${messages.map(({ messageId }) => messageId)}::text[],
                    ${messages.map(({ group }) => group.at(-1)!.id)}::bigint[],
                    ${messages.map(({ group }) => sumOf(group))}::integer[]) as m (message_id, position, items))
    update webhook_queue set waiting = waiting + ${added}, dropped = dropped + ${dropped},
           due_at = case when ${messages.length} = 0 then due_at when failures >= ${PROBE_AFTER} then coalesce(due_at, now())
                         else least(due_at, now()) end
     where webhook_id = ${webhookId}`.execute(tx)
  return { taken: rows.length, dropped }
}

function sumOf(rows: readonly Row[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0)
}

/** Groups rows for messages. A row with more than a message may have is one of its own. */
function grouped(rows: readonly Row[]): Row[][] {
  const groups: Row[][] = []
  let [count, bytes] = [Number.POSITIVE_INFINITY, 0]
  for (const row of rows) {
    if (count + row.count > MAX_EVENTS || bytes + row.bytes > MAX_BYTES) {
      groups.push([])
      count = bytes = 0
    }
    groups.at(-1)!.push(row)
    count += row.count
    bytes += row.bytes
  }
  return groups
}
