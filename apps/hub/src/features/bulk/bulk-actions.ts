import { setTimeout as sleep } from 'node:timers/promises'
import {
  ActionError,
  type AnyPermission,
  actions,
  type BulkActionKind,
  type BulkReason,
} from '@muster/actions'
import { sql } from 'kysely'
import type { DeviceRegistry } from '../../link/links/registry.ts'
import { authorize } from '../../platform/access/authorize.ts'
import { recordEvent } from '../../platform/audit/events.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { isConnectionError, isDeadlock, sqlState } from '../../platform/database/client/errors.ts'
import type { Jobs } from '../../platform/jobs/jobs.ts'
import type { LiveHub } from '../../platform/live/live-hub.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import type { Sessions } from '../../platform/sessions/sessions.ts'
import type { DeviceFilter } from '../devices/index.ts'
import { type BulkRun, type ItemResult, type ItemWork, type OpenItem, processItem } from './bulk-items.ts'

/** Items per portion. Before each portion, the rights of the person who started the bulk action are read again. */
const PORTION = 50
/** Items that are processed in parallel, each on its own connection of the pool. */
const PARALLEL = 4
/** Maximum number of portions of one bulk action before the job turns to the next bulk action that is due. */
const PORTIONS_PER_TURN = 20
/** Maximum number of attempts of an item whose transaction fails because of a deadlock or a serialization conflict. */
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

/** Permission that is checked before each portion, by kind of bulk action: the permission of the action that starts this kind. */
const PERMISSION: Record<BulkActionKind, AnyPermission> = {
  Accept: actions.devices_StartBulkDecision.permission,
  Reject: actions.devices_StartBulkDecision.permission,
  Delete: actions.devices_StartBulkDeletion.permission,
}

type BulkActionsOptions = {
  db: Db
  sessions: Sessions
  devices: DeviceRegistry
  live: LiveHub
  jobs: Jobs
  log: Logger
}

declare module '../../platform/pipeline/services.ts' {
  interface Services {
    bulkActions: BulkActions
  }
}
declare module '../../platform/jobs/define-job.ts' {
  interface JobContext {
    bulkActions: BulkActions
  }
}

/**
 * Processes the items of started bulk actions (docs/decisions.md, "Bulk actions"). Each item has a transaction of its own, which also
 * stores its result. Several nodes may therefore process one bulk action. After a crash, the next process continues with the items that
 * have no result.
 */
export class BulkActions {
  readonly #options: BulkActionsOptions
  readonly #db: Db
  readonly #sessions: Sessions
  readonly #devices: DeviceRegistry
  readonly #live: LiveHub
  readonly #jobs: Jobs
  readonly #log: Logger

  constructor(options: BulkActionsOptions) {
    const { db, sessions, devices, live, jobs, log } = options
    this.#options = options
    this.#db = db
    this.#sessions = sessions
    this.#devices = devices
    this.#live = live
    this.#jobs = jobs
    this.#log = log
  }

  /** Bulk actions that are processed with a caller's share of the database, instead of that of the hub. */
  of(db: Db): BulkActions {
    return new BulkActions({ ...this.#options, db })
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
          from bulk_action where status in ('Waiting', 'Running') order by due_at limit 1`.execute(this.#db)
      const [next] = rows
      if (!next || next.in_ms > SOON_MS) return
      if (next.in_ms > 0) {
        await sleep(Math.min(next.in_ms, PAUSE_MS), undefined, { signal })
        continue
      }
      await this.#runTurn(next.id, signal, jobId)
    }
  }

  /** Queues the job if there are unfinished bulk actions, for example of a process that has crashed. */
  async resume(): Promise<void> {
    const isQueued = await this.#db.transaction().execute(async tx => {
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

  /** Processes up to `PORTION` items. Resolves to false when the bulk action has ended. */
  async #runPortion(bulkActionId: string, jobId: string | undefined): Promise<boolean> {
    const run = await this.#read(bulkActionId)
    if (!run) return false
    const person = await this.#permittedPerson(run)
    if (!person) {
      await this.#stop(run, jobId)
      return false
    }
    const items = await this.#openItems(bulkActionId)
    if (items.length === 0) {
      await this.#complete(run)
      return false
    }
    const outcomes: ItemOutcome[] = []
    for (let at = 0; at < items.length; at += PARALLEL) {
      const some = items.slice(at, at + PARALLEL)
      outcomes.push(...(await Promise.all(some.map(item => this.#runItem(run, person, item, jobId)))))
      if (outcomes.includes('ended')) return false
    }
    await this.#saveCounts(bulkActionId)
    // Another node holds all items of this portion. Waits before the next portion is read.
    if (!outcomes.includes('processed')) await sleep(PAUSE_MS)
    return true
  }

  async #read(bulkActionId: string): Promise<BulkRun | undefined> {
    const row = await this.#db
      .selectFrom('bulk_action as b')
      .leftJoin('audit_action as a', 'a.action_id', 'b.action_id')
      .where('b.bulk_action_id', '=', bulkActionId)
      .where('b.status', '=', 'Running')
      .select(['b.project_id', 'b.kind', 'b.session_id', 'b.filter', 'b.action_id', 'a.address', 'a.browser'])
      .executeTakeFirst()
    return (
      row && {
        bulkActionId,
        projectId: row.project_id,
        kind: row.kind as BulkActionKind,
        sessionId: row.session_id,
        filter: (row.filter as DeviceFilter | null) ?? undefined,
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
      const { scope } = await authorize(this.#db, caller, PERMISSION[kind], { projectId })
      return { caller, organizationId: scope.organizationId! }
    } catch (error) {
      if (error instanceof ActionError) return undefined
      throw error
    }
  }

  async #openItems(bulkActionId: string): Promise<OpenItem[]> {
    const rows = await this.#db
      .selectFrom('bulk_action_item')
      .where('bulk_action_id', '=', bulkActionId)
      .where('outcome', 'is', null)
      .select(['position', 'device_id', 'certificate_id'])
      .orderBy('position')
      .limit(PORTION)
      .execute()
    return rows.map(row => ({
      position: row.position,
      deviceId: row.device_id,
      certificateId: row.certificate_id ?? undefined,
    }))
  }

  async #runItem(
    run: BulkRun,
    person: Person,
    item: OpenItem,
    jobId: string | undefined,
  ): Promise<ItemOutcome> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#tryItem(run, person, item, jobId)
      } catch (error) {
        if (isConnectionError(error)) throw error
        if (attempt < MAX_ATTEMPTS && (isDeadlock(error) || sqlState(error) === '40001')) continue
        const { bulkActionId } = run
        this.#log.error(
          { err: error, bulkActionId, deviceId: item.deviceId },
          'an item of a bulk action failed',
        )
        await saveResult(this.#db, run, item, { outcome: 'Failed', reason: 'HubError' })
        return 'processed'
      }
    }
  }

  /** Processes an item and stores its result in one transaction. Closes connections and notifies consoles only after the commit. */
  async #tryItem(
    run: BulkRun,
    { caller, organizationId }: Person,
    item: OpenItem,
    jobId: string | undefined,
  ): Promise<ItemOutcome> {
    const { projectId, actionId, origin } = run
    const { deviceId } = item
    const scope = { organizationId, projectId, deviceId }
    const effects: (() => void | Promise<void>)[] = []
    const outcome = await this.#db.transaction().execute(async tx => {
      // The lock makes a cancellation wait for this item. Later items read the new status and are not processed.
      const state = await tx
        .selectFrom('bulk_action')
        .where('bulk_action_id', '=', run.bulkActionId)
        .select('status')
        .forShare()
        .executeTakeFirst()
      if (state?.status !== 'Running') return 'ended' as const
      const claimed = await tx
        .selectFrom('bulk_action_item')
        .where('bulk_action_id', '=', run.bulkActionId)
        .where('position', '=', item.position)
        .where('outcome', 'is', null)
        .select('position')
        .forUpdate()
        .skipLocked()
        .executeTakeFirst()
      if (!claimed) return 'taken' as const
      const work: ItemWork = {
        tx,
        caller,
        events: {
          emit: (event, data, options) =>
            recordEvent(
              tx,
              { caller, scope, origin, ...(actionId && { actionId }), ...(jobId && { jobId }), ...options },
              event,
              data,
            ),
        },
        changed: topic => effects.push(() => this.#live.changed({ topic, ...scope })),
        afterCommit: effect => effects.push(() => effect(this.#db)),
      }
      await saveResult(tx, run, item, await processItem(work, this.#devices, run, item))
      return 'processed' as const
    })
    if (outcome === 'processed') {
      for (const effect of effects) {
        try {
          await effect()
        } catch (error) {
          this.#log.error({ err: error, deviceId }, 'an effect after a commit failed')
        }
      }
    }
    return outcome
  }

  async #complete({ bulkActionId, kind }: BulkRun): Promise<void> {
    await this.#db.transaction().execute(async tx => {
      const { numUpdatedRows } = await tx
        .updateTable('bulk_action')
        .set({ status: 'Completed', ended_at: sql`now()`, ...countsOf(bulkActionId) })
        .where('bulk_action_id', '=', bulkActionId)
        .where('status', '=', 'Running')
        .executeTakeFirst()
      if (numUpdatedRows > 0n && kind === 'Delete') await this.#jobs.enqueue(tx, 'devices_SweepHistory', {})
    })
    if (kind === 'Delete') this.#jobs.wake('devices_SweepHistory')
  }

  /** Stops a bulk action whose person has signed out or lost the permission. */
  async #stop({ bulkActionId, projectId, kind }: BulkRun, jobId: string | undefined): Promise<void> {
    await this.#db.transaction().execute(async tx => {
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

  async #saveCounts(bulkActionId: string): Promise<void> {
    await this.#db
      .updateTable('bulk_action')
      .set(countsOf(bulkActionId))
      .where('bulk_action_id', '=', bulkActionId)
      .execute()
  }
}

/** `taken` means that another node processes the item, `ended` that the bulk action no longer runs. */
type ItemOutcome = 'processed' | 'taken' | 'ended'

type Person = { caller: Caller & { actor: 'User' }; organizationId: string }

/** Columns with the result counts of a bulk action, for an update of its row. */
export function countsOf(bulkActionId: string) {
  const count = (outcome: ItemResult['outcome']) =>
    sql<number>`(select count(*) from bulk_action_item i where i.bulk_action_id = ${bulkActionId} and i.outcome = ${outcome})`
  return {
    succeeded_count: count('Succeeded'),
    skipped_count: count('Skipped'),
    failed_count: count('Failed'),
  }
}

async function saveResult(
  db: Db,
  { bulkActionId }: BulkRun,
  { position }: OpenItem,
  { outcome, reason, actor, actedAt }: ItemResult & { reason?: BulkReason },
): Promise<void> {
  await db
    .updateTable('bulk_action_item')
    .set({
      outcome,
      reason: reason ?? null,
      actor: actor === undefined ? null : JSON.stringify(actor),
      acted_at: actedAt ?? null,
    })
    .where('bulk_action_id', '=', bulkActionId)
    .where('position', '=', position)
    .where('outcome', 'is', null)
    .execute()
}
