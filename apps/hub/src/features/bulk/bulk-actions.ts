import { ActionError, type BulkActionKind } from '@muster/actions'
import { sql } from 'kysely'
import type { DeviceRegistry } from '../../link/links/registry.ts'
import { authorize } from '../../platform/access/authorize.ts'
import type { Cause } from '../../platform/audit/events.ts'
import type { Origin } from '../../platform/audit/facts.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { type DueRows, dueRows } from '../../platform/jobs/due-rows.ts'
import type { WriteBudgets } from '../../platform/limits/write-budgets.ts'
import { type PersonCaller, SYSTEM } from '../../platform/pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
} from '../../platform/pipeline/command-transaction.ts'
import type { Sessions } from '../../platform/sessions/sessions.ts'
import { type BulkItem, type ItemResult, skipped } from './bulk-kind.ts'
import { BULK_KINDS } from './kinds.ts'

type BulkActionsOptions = CommandParts & {
  /** Database of the hub, if `db` is the share of a caller. */
  hubDb?: Db
  sessions: Sessions
  devices: DeviceRegistry
  writeBudgets: WriteBudgets
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
  readonly #rows: DueRows

  constructor(options: BulkActionsOptions) {
    const { db, hubDb, live, jobs, log } = options
    this.#options = options
    this.#rows = dueRows<BulkRun, BulkItem, ItemResult>({
      db,
      live,
      jobs,
      isShare: hubDb !== undefined,
      log,
      table: 'bulk_action',
      key: 'bulk_action_id',
      isOpen: sql`status in ('Waiting', 'Running') and kind = any (${KINDS}::text[])`,
      begin: (id, jobId) => this.#begin(id, jobId),
      read: (id, jobId) => this.#read(id, jobId),
      cause: causeOf,
      portion: ({ kind }) => BULK_KINDS[kind].portion,
      claim,
      ended: deletedOf,
      process: (transaction, { kind, caller, bulkActionId, projectId, organizationId, filter }, items) =>
        BULK_KINDS[kind].applyPortion(
          {
            ...transaction,
            ...{ caller, bulkActionId, projectId, organizationId, filter },
            devices: options.devices,
            writeBudgets: options.writeBudgets,
          },
          items,
        ),
      save: saveResults,
      failed: { outcome: 'Failed', reason: 'HubError' },
      complete: run => this.#complete(run),
    })
  }

  /** Bulk actions that are processed with a caller's share of the database, instead of that of the hub. */
  of(db: Db): BulkActions {
    return new BulkActions({ hubDb: this.#options.db, ...this.#options, db })
  }

  /** Processes a bulk action to its end, in the request that started it. */
  async runWhole(bulkActionId: string): Promise<void> {
    try {
      while (await this.#rows.runPortion(bulkActionId)) {}
    } catch (error) {
      this.#options.log.warn(
        { err: error, bulkActionId },
        'a bulk action was interrupted; a job continues it',
      )
      await this.resume()
    }
  }

  /** Processes due bulk actions until there are none. */
  runDue(signal: AbortSignal, jobId: string): Promise<void> {
    return this.#rows.runDue(signal, jobId)
  }

  /** Queues the job if there are unfinished bulk actions, for example of a process that has crashed. */
  async resume(): Promise<void> {
    const { db, hubDb = db } = this.#options
    const queue = async ({ tx, enqueue }: CommandTransaction): Promise<void> => {
      const open = await tx
        .selectFrom('bulk_action')
        .where('status', 'in', ['Waiting', 'Running'])
        .select('bulk_action_id')
        .limit(1)
        .executeTakeFirst()
      if (open) await enqueue('devices_RunBulkActions', {})
    }
    await commandTransaction(queue, { caller: SYSTEM, scope: {} }, { ...this.#options, db: hubDb })
  }

  async #begin(bulkActionId: string, jobId: string): Promise<void> {
    await this.#options.db
      .updateTable('bulk_action')
      .set({ status: 'Running', job_id: jobId })
      .where('bulk_action_id', '=', bulkActionId)
      .where('status', 'in', ['Waiting', 'Running'])
      .execute()
  }

  /** Reads a bulk action and the rights of its person. Stops it if the session or the token has ended or the person lacks the permission. */
  async #read(bulkActionId: string, jobId: string | undefined): Promise<BulkRun | undefined> {
    const row = await this.#options.db
      .selectFrom('bulk_action as b')
      .leftJoin('audit_action as a', 'a.action_id', 'b.action_id')
      .where('b.bulk_action_id', '=', bulkActionId)
      .where('b.status', '=', 'Running')
      .where('b.kind', 'in', KINDS)
      .select([
        'b.project_id',
        'b.kind',
        'b.session_id',
        'b.token_id',
        'b.filter',
        'b.action_id',
        'a.address',
        'a.browser',
      ])
      .executeTakeFirst()
    if (!row) return undefined
    const run = { bulkActionId, projectId: row.project_id, kind: row.kind as BulkActionKind, jobId }
    const person = await this.#permittedPerson(run, row)
    if (!person) {
      await this.#stop(run)
      return undefined
    }
    return {
      ...run,
      ...person,
      filter: row.filter ?? undefined,
      actionId: row.action_id ?? undefined,
      origin: { address: row.address ?? undefined, browser: row.browser ?? undefined },
    }
  }

  async #permittedPerson(
    { kind, projectId }: Run,
    credential: { session_id: string | null; token_id: string | null },
  ): Promise<Pick<BulkRun, 'caller' | 'organizationId'> | undefined> {
    const caller = await this.#personWith(credential)
    if (!caller) return undefined
    try {
      const { scope } = await authorize(this.#options.db, caller, BULK_KINDS[kind].permission, { projectId })
      return { caller, organizationId: scope.organizationId! }
    } catch (error) {
      if (error instanceof ActionError) return undefined
      throw error
    }
  }

  async #personWith({
    session_id: sessionId,
    token_id: tokenId,
  }: {
    session_id: string | null
    token_id: string | null
  }): Promise<PersonCaller | undefined> {
    const { sessions } = this.#options
    if (sessionId !== null) return sessions.personOfSession(sessionId)
    return tokenId === null ? undefined : sessions.personOfToken(tokenId)
  }

  async #complete(run: BulkRun): Promise<void> {
    const { bulkActionId, kind } = run
    const complete = async ({ tx, enqueue }: CommandTransaction): Promise<void> => {
      await lockAction(tx, bulkActionId)
      const { numUpdatedRows } = await tx
        .updateTable('bulk_action')
        .set({ status: 'Completed', ended_at: sql`now()`, ...countsOf(bulkActionId) })
        .where('bulk_action_id', '=', bulkActionId)
        .where('status', '=', 'Running')
        .executeTakeFirst()
      if (numUpdatedRows > 0n) await BULK_KINDS[kind].onEnd?.(enqueue)
    }
    await commandTransaction(complete, causeOf(run), this.#options)
  }

  /** Stops a bulk action whose person has signed out, deleted the token or lost the permission. */
  async #stop({ bulkActionId, projectId, kind, jobId }: Run): Promise<void> {
    const stop = async ({ tx, events, enqueue }: CommandTransaction): Promise<void> => {
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
      if (stopped.done > 0) await BULK_KINDS[kind].onEnd?.(enqueue)
      await events.emit(
        'devices_BulkActionStopped',
        { projectId, bulkActionId, kind, doneCount: stopped.done },
        { scope: { organizationId: project.organization_id } },
      )
    }
    await commandTransaction(stop, { caller: SYSTEM, scope: { projectId }, jobId }, this.#options)
  }
}

/** A bulk action that is processed, in a job or in the request that started it. */
type Run = { bulkActionId: string; projectId: string; kind: BulkActionKind; jobId: string | undefined }

/** A bulk action whose person may go on with it. */
type BulkRun = Run & {
  caller: PersonCaller
  organizationId: string
  filter: unknown
  actionId: string | undefined
  /** Origin of the request that started the bulk action. */
  origin: Origin
}

/** Events of items name the action and the job that caused them, and the origin of the request that started the bulk action. */
function causeOf({ caller, organizationId, projectId, origin, actionId, jobId }: BulkRun): Cause {
  return { caller, scope: { organizationId, projectId }, origin, actionId, jobId }
}

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

/**
 * Locks the bulk action and the next items that have no result. The first lock makes a cancellation wait for these items, and other nodes
 * for the counts. So no other node holds items, and the bulk action has none left if none is found.
 */
async function claim(tx: Tx, { bulkActionId }: BulkRun, limit: number): Promise<BulkItem[] | undefined> {
  if ((await lockAction(tx, bulkActionId)) !== 'Running') return undefined
  const rows = await tx
    .selectFrom('bulk_action_item')
    .where('bulk_action_id', '=', bulkActionId)
    .where('outcome', 'is', null)
    .select(['position', 'device_id', 'certificate_id', 'change'])
    .orderBy('position')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute()
  return rows.map(row => ({
    position: row.position,
    deviceId: row.device_id,
    certificateId: row.certificate_id ?? undefined,
    change: row.change ?? undefined,
  }))
}

/**
 * Locks the devices of items, always in the same order. Resolves to the results of items whose devices were deleted, with actor and time from
 * the audit log while it has the event.
 */
async function deletedOf(
  tx: Tx,
  { projectId, kind }: BulkRun,
  items: readonly BulkItem[],
): Promise<Map<number, ItemResult>> {
  const found = tx
    .selectFrom('device')
    .where(sql<boolean>`device_id = any (${items.map(({ deviceId }) => deviceId)}::text[])`)
    .where('project_id', '=', projectId)
    .select('device_id')
    .orderBy('device_id')
  const devices = await (BULK_KINDS[kind].locksRows === 'update'
    ? found.forUpdate()
    : found.forNoKeyUpdate()
  ).execute()
  const existing = new Set(devices.map(row => row.device_id))
  const absent = items.filter(({ deviceId }) => !existing.has(deviceId))
  if (absent.length === 0) return new Map()
  const { rows } = await sql<{ device_id: string; actor: unknown; at: Date }>`
    select i.device_id, past.actor, past.at from unnest(${absent.map(({ deviceId }) => deviceId)}::text[]) as i (device_id)
      cross join lateral (
        select e.actor, e.created_at as at from audit_event e
         where e.device_id = i.device_id and e.event = 'devices_Deleted' order by e.created_at desc limit 1
      ) past`.execute(tx)
  const past = new Map(rows.map(row => [row.device_id, row]))
  return new Map(
    absent.map(({ position, deviceId }) => [position, skipped('DeviceDeleted', past.get(deviceId))]),
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
