import { setTimeout as sleep } from 'node:timers/promises'
import { ActionError, type BulkActionKind } from '@muster/actions'
import { sql } from 'kysely'
import type { DeviceRegistry } from '../../link/links/registry.ts'
import { authorize } from '../../platform/access/authorize.ts'
import { recordEvent, recordEvents } from '../../platform/audit/events.ts'
import type { Origin } from '../../platform/audit/facts.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import {
  isCancelled,
  isConnectionError,
  isDeadlock,
  isLockTimeout,
  sqlState,
} from '../../platform/database/client/errors.ts'
import type { JobName, Jobs } from '../../platform/jobs/jobs.ts'
import type { LiveHub } from '../../platform/live/live-hub.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import type { Sessions } from '../../platform/sessions/sessions.ts'
import { type BulkItem, type ItemResult, type PortionWork, skipped } from './bulk-kind.ts'
import { BULK_KINDS } from './kinds.ts'

/** Maximum number of portions of one bulk action before the job turns to the next bulk action that is due. */
const PORTIONS_PER_TURN = 10
/** Time after which a bulk action is tried again that could not be processed, in seconds. Others go on meanwhile. */
const AGAIN_SECS = 60
/** Maximum number of attempts of a portion whose transaction fails because of a deadlock or a serialization conflict. */
const MAX_ATTEMPTS = 3
/**
 * Poll interval, in milliseconds. A run waits this long if another node was processing all items of a portion, then reads the next portion.
 * It also polls at this interval while it waits for a bulk action to become due.
 */
const PAUSE_MS = 100
/**
 * Maximum time, in milliseconds, that a running job waits for the next bulk action to become due. It exceeds the 10 s by which a bulk
 * deletion is delayed, so the job that is queued when the deletion is started also processes it.
 */
const SOON_MS = 15_000

type BulkActionsOptions = {
  db: Db
  /** Database of the hub, if `db` is the share of a caller. */
  hubDb?: Db
  sessions: Sessions
  devices: DeviceRegistry
  live: LiveHub
  jobs: Jobs
  log: Logger
}

declare module '../../platform/pipeline/services.ts' {
  interface FeatureServices {
    bulkActions: BulkActions
  }
}

/**
 * Processes the items of started bulk actions (docs/decisions.md, "Bulk actions"). Each portion has a transaction of its own, which also
 * stores its results. Several nodes may therefore process one bulk action. After a crash, the next process continues with the items that
 * have no result.
 */
export class BulkActions {
  readonly #options: BulkActionsOptions
  readonly #db: Db
  readonly #hubDb: Db
  readonly #sessions: Sessions
  readonly #devices: DeviceRegistry
  readonly #live: LiveHub
  readonly #jobs: Jobs
  readonly #log: Logger

  constructor(options: BulkActionsOptions) {
    const { db, hubDb = db, sessions, devices, live, jobs, log } = options
    this.#options = options
    this.#db = db
    this.#hubDb = hubDb
    this.#sessions = sessions
    this.#devices = devices
    this.#live = live
    this.#jobs = jobs
    this.#log = log
  }

  /** Bulk actions that are processed with a caller's share of the database, instead of that of the hub. */
  of(db: Db): BulkActions {
    return new BulkActions({ ...this.#options, db, hubDb: this.#hubDb })
  }

  /** Processes a bulk action to its end, in the request that started it. */
  async runWhole(bulkActionId: string): Promise<void> {
    try {
      while (await this.#runPortion(bulkActionId, undefined)) {}
    } catch (error) {
      this.#log.warn({ err: error, bulkActionId }, 'a bulk action was interrupted; a job continues it')
      await this.resume()
    }
  }

  /** Processes due bulk actions round-robin. Waits for bulk actions that become due within `SOON_MS`, and ends when there are none. */
  async runDue(signal: AbortSignal, jobId: string): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const { rows } = await sql<{ id: string; in_ms: number }>`
        select bulk_action_id as id, extract(epoch from due_at - now())::float8 * 1000 as in_ms
          from bulk_action where status in ('Waiting', 'Running') and kind = any (${KINDS}::text[])
         order by due_at limit 1`.execute(this.#db)
      const [next] = rows
      if (!next || next.in_ms > SOON_MS) return
      if (next.in_ms > 0) {
        await sleep(Math.min(next.in_ms, PAUSE_MS), undefined, { signal })
        continue
      }
      try {
        await this.#runTurn(next.id, signal, jobId)
      } catch (error) {
        if (!signal.aborted) await this.#postpone(next.id)
        throw error
      }
    }
  }

  /** Queues the job if there are unfinished bulk actions, for example of a process that has crashed. */
  async resume(): Promise<void> {
    const isQueued = await this.#hubDb.transaction().execute(async tx => {
      const open = await tx
        .selectFrom('bulk_action')
        .where('status', 'in', ['Waiting', 'Running'])
        .select('bulk_action_id')
        .limit(1)
        .executeTakeFirst()
      if (open) await this.#jobs.enqueue(tx, 'devices_RunBulkActions', {})
      return open !== undefined
    })
    if (isQueued) this.#jobs.wake('devices_RunBulkActions')
  }

  /** Lets other bulk actions go first when the job is tried again. */
  async #postpone(bulkActionId: string): Promise<void> {
    await this.#db
      .updateTable('bulk_action')
      .set({ due_at: sql`now() + make_interval(secs => ${AGAIN_SECS})` })
      .where('bulk_action_id', '=', bulkActionId)
      .where('status', '=', 'Running')
      .execute()
      .catch(() => {})
  }

  async #runTurn(bulkActionId: string, signal: AbortSignal, jobId: string): Promise<void> {
    await this.#db
      .updateTable('bulk_action')
      .set({ status: 'Running', job_id: jobId })
      .where('bulk_action_id', '=', bulkActionId)
      .where('status', 'in', ['Waiting', 'Running'])
      .execute()
    for (let portion = 0; portion < PORTIONS_PER_TURN; portion++) {
      signal.throwIfAborted()
      if (!(await this.#runPortion(bulkActionId, jobId))) return
    }
    // Moves the current bulk action to the end of the queue: the job takes bulk actions in the order of `due_at`.
    await this.#db
      .updateTable('bulk_action')
      .set({ due_at: sql`now()` })
      .where('bulk_action_id', '=', bulkActionId)
      .where('status', '=', 'Running')
      .execute()
  }

  /** Processes a portion of items. Resolves to false when the bulk action has ended. */
  async #runPortion(bulkActionId: string, jobId: string | undefined): Promise<boolean> {
    const run = await this.#read(bulkActionId)
    if (!run) return false
    const person = await this.#permittedPerson(run)
    if (!person) {
      await this.#stop(run, jobId)
      return false
    }
    const open = await this.#openPositions(run)
    if (open.length === 0) {
      await this.#complete(run)
      return false
    }
    const outcome = await this.#runItems(run, person, open, jobId)
    // Another node holds all items of this portion. Waits before the next portion is read.
    if (outcome === 'taken') await sleep(PAUSE_MS)
    return outcome !== 'ended'
  }

  async #read(bulkActionId: string): Promise<BulkRun | undefined> {
    const row = await this.#db
      .selectFrom('bulk_action as b')
      .leftJoin('audit_action as a', 'a.action_id', 'b.action_id')
      .where('b.bulk_action_id', '=', bulkActionId)
      .where('b.status', '=', 'Running')
      .where('b.kind', 'in', KINDS)
      .select(['b.project_id', 'b.kind', 'b.session_id', 'b.filter', 'b.action_id', 'a.address', 'a.browser'])
      .executeTakeFirst()
    return (
      row && {
        bulkActionId,
        projectId: row.project_id,
        kind: row.kind as BulkActionKind,
        sessionId: row.session_id,
        filter: row.filter ?? undefined,
        actionId: row.action_id ?? undefined,
        origin: { address: row.address ?? undefined, browser: row.browser ?? undefined },
      }
    )
  }

  /**
   * The person of a bulk action and the organization of its project. Undefined if the session has ended or the person lacks the permission.
   */
  async #permittedPerson({ sessionId, kind, projectId }: BulkRun): Promise<Person | undefined> {
    const caller = await this.#sessions.personOfSession(sessionId)
    if (!caller) return undefined
    try {
      const { scope } = await authorize(this.#db, caller, BULK_KINDS[kind].permission, { projectId })
      return { caller, organizationId: scope.organizationId! }
    } catch (error) {
      if (error instanceof ActionError) return undefined
      throw error
    }
  }

  async #openPositions({ bulkActionId, kind }: BulkRun): Promise<number[]> {
    const rows = await this.#db
      .selectFrom('bulk_action_item')
      .where('bulk_action_id', '=', bulkActionId)
      .where('outcome', 'is', null)
      .select('position')
      .orderBy('position')
      .limit(BULK_KINDS[kind].portion)
      .execute()
    return rows.map(({ position }) => position)
  }

  /**
   * Processes the items at these positions in one transaction. If it fails, each item gets a transaction of its own, so that an item which
   * cannot be processed fails alone.
   */
  async #runItems(
    run: BulkRun,
    person: Person,
    positions: readonly number[],
    jobId: string | undefined,
  ): Promise<PortionOutcome> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#tryItems(run, person, positions, jobId)
      } catch (error) {
        // One item may hold up the others, by a lock or by its rows.
        if (positions.length > 1 && (isCancelled(error) || isLockTimeout(error))) break
        // A limit of the person concerns no item. A job continues with the hub's own share.
        if (isConnectionError(error) || error instanceof ActionError) throw error
        if (attempt < MAX_ATTEMPTS && (isDeadlock(error) || sqlState(error) === '40001')) continue
        if (positions.length > 1) break
        const { bulkActionId } = run
        this.#log.error(
          { err: error, bulkActionId, position: positions[0] },
          'an item of a bulk action failed',
        )
        await this.#db
          .transaction()
          .execute(tx =>
            saveResults(tx, run, new Map([[positions[0]!, { outcome: 'Failed', reason: 'HubError' }]])),
          )
        return 'processed'
      }
    }
    for (const position of positions)
      if ((await this.#runItems(run, person, [position], jobId)) === 'ended') return 'ended'
    return 'processed'
  }

  /** Processes items and stores their results in one transaction. Closes connections and notifies consoles only after the commit. */
  async #tryItems(
    run: BulkRun,
    { caller, organizationId }: Person,
    positions: readonly number[],
    jobId: string | undefined,
  ): Promise<PortionOutcome> {
    const { projectId, actionId, origin, filter } = run
    const scope = { organizationId, projectId }
    const effects: (() => void | Promise<void>)[] = []
    const outcome = await this.#db.transaction().execute(async tx => {
      // The lock makes a cancellation wait for these items, and other nodes for the counts.
      if ((await lockAction(tx, run.bulkActionId)) !== 'Running') return 'ended' as const
      const items = await claim(tx, run, positions)
      if (items.length === 0) return 'taken' as const
      const existing = await lockDevices(tx, run, items)
      const [present, absent] = [true, false].map(isPresent =>
        items.filter(({ deviceId }) => existing.has(deviceId) === isPresent),
      ) as [BulkItem[], BulkItem[]]
      const work: PortionWork = {
        tx,
        caller,
        projectId,
        filter,
        devices: this.#devices,
        emit: (event, of) =>
          recordEvents(
            tx,
            { caller, scope, origin, ...(actionId && { actionId }), ...(jobId && { jobId }) },
            event,
            of,
          ),
        changed: (topic, deviceId) => effects.push(() => this.#live.changed({ topic, ...scope, deviceId })),
        afterCommit: effect => effects.push(() => effect(this.#db)),
      }
      const results =
        present.length > 0
          ? await BULK_KINDS[run.kind].applyPortion(work, present)
          : new Map<number, ItemResult>()
      for (const [position, result] of await deletionsOf(tx, absent)) results.set(position, result)
      await saveResults(tx, run, results)
      return 'processed' as const
    })
    if (outcome === 'processed') {
      for (const effect of effects) {
        try {
          await effect()
        } catch (error) {
          this.#log.error({ err: error, bulkActionId: run.bulkActionId }, 'an effect after a commit failed')
        }
      }
    }
    return outcome
  }

  async #complete({ bulkActionId, kind }: BulkRun): Promise<void> {
    const queued = new Set<JobName>()
    await this.#db.transaction().execute(async tx => {
      await lockAction(tx, bulkActionId)
      const { numUpdatedRows } = await tx
        .updateTable('bulk_action')
        .set({ status: 'Completed', ended_at: sql`now()`, ...countsOf(bulkActionId) })
        .where('bulk_action_id', '=', bulkActionId)
        .where('status', '=', 'Running')
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return
      await BULK_KINDS[kind].onEnd?.((job, data) => {
        queued.add(job)
        return this.#jobs.enqueue(tx, job, data)
      })
    })
    for (const job of queued) this.#jobs.wake(job)
  }

  /** Stops a bulk action whose person has signed out or lost the permission. */
  async #stop({ bulkActionId, projectId, kind }: BulkRun, jobId: string | undefined): Promise<void> {
    await this.#db.transaction().execute(async tx => {
      await lockAction(tx, bulkActionId)
      const stopped = await tx
        .updateTable('bulk_action')
        .set({ status: 'Stopped', ended_at: sql`now()`, ...countsOf(bulkActionId) })
        .where('bulk_action_id', '=', bulkActionId)
        .where('status', '=', 'Running')
        .returning(sql<number>`succeeded_count + skipped_count + failed_count`.as('done'))
        .executeTakeFirst()
      const project = await tx
        .selectFrom('project')
        .where('project_id', '=', projectId)
        .select('organization_id')
        .executeTakeFirst()
      if (!stopped || !project) return
      const scope = { organizationId: project.organization_id, projectId }
      await recordEvent(
        tx,
        { caller: { actor: 'System' }, scope, ...(jobId && { jobId }) },
        'devices_BulkActionStopped',
        { projectId, bulkActionId, kind, doneCount: stopped.done },
      )
    })
  }
}

/** Fields of the row of a started bulk action. */
type BulkRun = {
  bulkActionId: string
  projectId: string
  kind: BulkActionKind
  sessionId: string
  filter: unknown
  actionId: string | undefined
  /** Origin of the request that started the bulk action. */
  origin: Origin
}

/** `taken` means that another node has processed the items, `ended` that the bulk action no longer runs. */
type PortionOutcome = 'processed' | 'taken' | 'ended'

type Person = { caller: Caller & { actor: 'User' }; organizationId: string }

/** Kinds that this release knows. Bulk actions of another kind are left to nodes of a newer release. */
const KINDS = Object.keys(BULK_KINDS)

/** Locks a bulk action and resolves to its status. */
async function lockAction(tx: Tx, bulkActionId: string): Promise<string | undefined> {
  const row = await tx
    .selectFrom('bulk_action')
    .where('bulk_action_id', '=', bulkActionId)
    .select('status')
    .forUpdate()
    .executeTakeFirst()
  return row?.status
}

/**
 * Columns with the counts of a bulk action that ends, from its items. Each portion adds to the counts, but a node of an older release counts
 * the items only after its portions. The row must be locked by an earlier statement, or the counts may be those from before the wait.
 */
export function countsOf(bulkActionId: string) {
  const count = (outcome: ItemResult['outcome']) =>
    sql<number>`(select count(*) from bulk_action_item i where i.bulk_action_id = ${bulkActionId} and i.outcome = ${outcome})`
  return {
    succeeded_count: count('Succeeded'),
    skipped_count: count('Skipped'),
    failed_count: count('Failed'),
  }
}

/** Locks those of the items that have no result. */
async function claim(tx: Tx, { bulkActionId }: BulkRun, positions: readonly number[]): Promise<BulkItem[]> {
  const rows = await tx
    .selectFrom('bulk_action_item')
    .where('bulk_action_id', '=', bulkActionId)
    .where(sql<boolean>`position = any (${positions}::int[])`)
    .where('outcome', 'is', null)
    .select(['position', 'device_id', 'certificate_id'])
    .orderBy('position')
    .forUpdate()
    .skipLocked()
    .execute()
  return rows.map(row => ({
    position: row.position,
    deviceId: row.device_id,
    certificateId: row.certificate_id ?? undefined,
  }))
}

/** Locks the devices of items, always in the same order, and resolves to the ids of those that exist. */
async function lockDevices(
  tx: Tx,
  { projectId }: BulkRun,
  items: readonly BulkItem[],
): Promise<ReadonlySet<string>> {
  const rows = await tx
    .selectFrom('device')
    .where(sql<boolean>`device_id = any (${items.map(({ deviceId }) => deviceId)}::text[])`)
    .where('project_id', '=', projectId)
    .select('device_id')
    .orderBy('device_id')
    .forUpdate()
    .execute()
  return new Set(rows.map(row => row.device_id))
}

/** Results of items whose devices were deleted, with actor and time from the audit log while it has the event. */
async function deletionsOf(tx: Tx, items: readonly BulkItem[]): Promise<Map<number, ItemResult>> {
  if (items.length === 0) return new Map()
  const { rows } = await sql<{ device_id: string; actor: unknown; at: Date }>`
    select i.device_id, past.actor, past.at from unnest(${items.map(({ deviceId }) => deviceId)}::text[]) as i (device_id)
      cross join lateral (
        select e.actor, e.created_at as at from audit_event e
         where e.device_id = i.device_id and e.event = 'devices_Deleted' order by e.created_at desc limit 1
      ) past`.execute(tx)
  const past = new Map(rows.map(row => [row.device_id, row]))
  return new Map(
    items.map(({ position, deviceId }) => [position, skipped('DeviceDeleted', past.get(deviceId))]),
  )
}

/** Stores the results of items, by their positions, and adds them to the counts of the bulk action. */
async function saveResults(
  tx: Tx,
  { bulkActionId }: BulkRun,
  results: ReadonlyMap<number, ItemResult>,
): Promise<void> {
  const of = [...results].map(([position, { outcome, reason, actor, actedAt }]) => ({
    position,
    outcome,
    reason,
    actor,
    acted_at: actedAt,
  }))
  await sql`
    with saved as (
      update bulk_action_item i
         set outcome = r.outcome, reason = r.reason, actor = r.actor, acted_at = r.acted_at
        from json_to_recordset(${JSON.stringify(of)}::json)
             as r (position int, outcome text, reason text, actor jsonb, acted_at timestamptz)
       where i.bulk_action_id = ${bulkActionId} and i.position = r.position and i.outcome is null
       returning i.outcome
    )
    update bulk_action b
       set succeeded_count = succeeded_count + n.succeeded, skipped_count = skipped_count + n.skipped,
           failed_count = failed_count + n.failed
      from (select count(*) filter (where outcome = 'Succeeded') as succeeded,
                   count(*) filter (where outcome = 'Skipped') as skipped,
                   count(*) filter (where outcome = 'Failed') as failed from saved) n
     where b.bulk_action_id = ${bulkActionId}`.execute(tx)
}
