import { newDatedId } from '@muster/actions'
import { sql } from 'kysely'
import { EXPORT_ROW } from '../../link/telemetry/device-events.ts'
import type { Ingest } from '../../link/telemetry/ingest.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import { isConnectionError } from '../../platform/database/client/errors.ts'
import type { LimitValues } from '../../platform/limits/limits.ts'
import { SYSTEM } from '../../platform/pipeline/caller.ts'
import { type CommandParts, commandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { PROBE_AFTER } from './delivery-state.ts'
import { EXPORT_TYPE } from './exports.ts'

/**
 * Interval in milliseconds at which a node makes messages of new events, and learns which projects are exported. So a message has the events of
 * up to 5 s, and a change reaches other nodes within 5 s.
 */
const EVERY_MS = 5_000
/** Rows of `event_export` that one transaction puts into messages. Each has up to as many events as a message. */
const ROWS = 2_000

/** Pause in milliseconds between two entries of the log of a project about dropped events. */
const REPORT_MS = 60 * 60 * 1000

type ExporterOptions = CommandParts & { limits: LimitValues; ingest: Ingest }
type Export = { webhookId: string; projectId: string; organizationId: string; hasNew: boolean }

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
  /** Monotonic times of the last report of dropped events, in milliseconds, by webhook. */
  readonly #reportedMs = new Map<string, number>()

  constructor(options: ExporterOptions) {
    this.#options = options
  }

  /** Begins to keep the keys of events, and to make messages of them. Calls `onMade` when there are new messages. */
  async start(onMade: () => void): Promise<void> {
    this.#onMade = onMade
    await this.#readExports()
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
        for (const found of await this.#readExports())
          while (found.hasNew && !this.#isClosed && (await this.#makeMessages(found)) === ROWS) {}
      } catch (error) {
        // The next run is 5 s later. A broken connection is reported by its owner.
        if (!isConnectionError(error) && !this.#isClosed)
          this.#options.log.warn({ err: error }, 'events were not put into messages of exports')
        return
      }
    }
  }

  /** Reads the exports that are on, and keeps the keys of the events of their projects from now on. */
  async #readExports(): Promise<Export[]> {
    const { db, ingest } = this.#options
    const { rows } = await sql<Export>`
      select w.webhook_id as "webhookId", w.project_id as "projectId", w.organization_id as "organizationId",
             exists (select from event_export e where e.project_id = w.project_id and e.message_id is null) as "hasNew"
        from webhook w where w.format = 'otlp' and w.is_enabled`.execute(db)
    ingest.exportEventsOf(new Set(rows.map(({ projectId }) => projectId)))
    return rows
  }

  /** Resolves to the number of rows that were put into messages or dropped. */
  async #makeMessages(of: Export): Promise<number> {
    const { db, limits } = this.#options
    const { taken, dropped, droppedCount } = await db.transaction().execute(async tx => {
      const { rows: locks } = await sql<{ isFree: boolean }>`
        select pg_try_advisory_xact_lock(hashtext('muster.event-export')) as "isFree"`.execute(tx)
      return locks[0]!.isFree ? makeMessages(tx, of, limits['project-export-waiting-events']) : NONE
    })
    if (taken > 0) this.#onMade()
    if (dropped > 0) await this.#reportDropped(of, droppedCount)
    return taken
  }

  async #reportDropped(
    { webhookId, projectId, organizationId }: Export,
    droppedCount: number,
  ): Promise<void> {
    const nowMs = performance.now()
    if (nowMs - (this.#reportedMs.get(webhookId) ?? -REPORT_MS) < REPORT_MS) return
    for (const [id, atMs] of this.#reportedMs) if (nowMs - atMs >= REPORT_MS) this.#reportedMs.delete(id)
    this.#reportedMs.set(webhookId, nowMs)
    await commandTransaction(
      async ({ events, changed }) => {
        await events.emit('projects_ExportedEventsDropped', { projectId, webhookId, droppedCount })
        changed('webhooks')
      },
      { caller: SYSTEM, scope: { organizationId, projectId } },
      this.#options,
    )
  }

  /** Stops, after the transaction in flight. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#running
  }
}

type Row = { id: string; count: number; bytes: number; position: number }
/** Numbers of rows that were read, of events that were dropped, and of events that the export has dropped since it was made. */
type Made = { taken: number; dropped: number; droppedCount: number }
const NONE: Made = { taken: 0, dropped: 0, droppedCount: 0 }

/**
 * Puts the oldest new events of a project into messages. Beyond `maxWaiting` waiting events, further ones are counted as dropped. The caller
 * holds the lock of exporters, in an earlier statement.
 */
async function makeMessages(tx: Tx, { webhookId, projectId }: Export, maxWaiting: number): Promise<Made> {
  const { rows: queues } = await sql<{ waiting: number; dropped: number }>`
    select waiting, dropped from webhook_queue where webhook_id = ${webhookId} for no key update`.execute(tx)
  const { rows } = await sql<Row>`
    select export_id as id, cardinality(event_ids) as count, bytes, (extract(epoch from created_at) * 1000000)::bigint as position
      from event_export where project_id = ${projectId} and message_id is null order by created_at limit ${ROWS}`.execute(
    tx,
  )
  const [queue] = queues
  if (!queue || rows.length === 0) return NONE
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
        from unnest(${messages.flatMap(({ group }) => group.map(({ id }) => id))}::text[],
                    ${messages.flatMap(({ messageId, group }) => group.map(() => messageId))}::text[]) as m (export_id, message_id)
       where e.export_id = m.export_id),
    gone as (delete from event_export where export_id = any (${gone.map(({ id }) => id)}::text[])),
    made as (
      insert into webhook_delivery (webhook_id, message_id, created_at, type, position, items)
      select ${webhookId}, m.message_id, now(), ${EXPORT_TYPE}, m.position, m.items
        from unnest(${messages.map(({ messageId }) => messageId)}::text[],
                    ${messages.map(({ group }) => group[0]!.position)}::bigint[],
                    ${messages.map(({ group }) => sumOf(group))}::integer[]) as m (message_id, position, items))
    update webhook_queue set waiting = waiting + ${added}, dropped = dropped + ${dropped},
           due_at = case when ${messages.length} = 0 then due_at when failures >= ${PROBE_AFTER} then coalesce(due_at, now())
                         else least(due_at, now()) end
     where webhook_id = ${webhookId}`.execute(tx)
  return { taken: rows.length, dropped, droppedCount: queue.dropped + dropped }
}

function sumOf(rows: readonly Row[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0)
}

/** Groups rows for messages. In OTLP the bytes of their events become up to some ten times as many; collectors take 20 MiB. */
function grouped(rows: readonly Row[]): Row[][] {
  const groups: Row[][] = []
  let [count, bytes] = [Number.POSITIVE_INFINITY, 0]
  for (const row of rows) {
    if (count + row.count > EXPORT_ROW.events || bytes + row.bytes > EXPORT_ROW.bytes) {
      groups.push([])
      count = bytes = 0
    }
    groups.at(-1)!.push(row)
    count += row.count
    bytes += row.bytes
  }
  return groups
}
