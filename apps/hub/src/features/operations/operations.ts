import {
  DEVICE_OPERATION_WORK_KINDS,
  type HandlerOutput,
  MAX_CLAIMED_WORK,
  newId,
  type ParsedInput,
} from '@muster/actions'
import { memberText, RawJson } from '@muster/actions/exact-json'
import { sql } from 'kysely'
import { refusal } from '../../platform/access/authorize.ts'
import { type Db, select } from '../../platform/database/client/connection.ts'
import { isConnectionError } from '../../platform/database/client/errors.ts'
import { type DueRows, dueRows } from '../../platform/jobs/due-rows.ts'
import type { DatabaseShare } from '../../platform/limits/database-shares.ts'
import type { LimitValues } from '../../platform/limits/limits.ts'
import type { LiveHub } from '../../platform/live/live-hub.ts'
import { type DeviceCaller, SYSTEM } from '../../platform/pipeline/caller.ts'
import {
  type CommandParts,
  commandTransaction,
  withinShare,
} from '../../platform/pipeline/command-transaction.ts'
import { advance, settle } from './advance.ts'
import { keptOutput } from './kept-output.ts'
import { type Locked, lockOperations, outputsOf, type Saved, saveOutput, stepText } from './operation-rows.ts'
import { claimed, deadlineOf, hasEnded, isCurrent, type Operation, reported } from './operation-state.ts'
import type { WriteParts } from './write-step.ts'

/** Operations of a portion. A portion is one transaction, and a step on a property takes several statements. */
const PORTION = 500
/** Time in milliseconds for which changed devices are collected before the operations that wait for them look again. */
const COLLECT_MS = 300
/** Longest time in milliseconds for which this node plans ahead. The job looks at that interval too. */
const AHEAD_MS = 60_000
/** Devices whose changes wait to be looked at. Beyond it, operations look again by themselves within 10 min. */
const MAX_CHANGED = 100_000

type OperationsOptions = CommandParts & WriteParts & { live: LiveHub; limits: LimitValues }

type ClaimInput = ParsedInput<'devices_ClaimOperationWork'>
type ReportInput = ParsedInput<'devices_ReportOperationStep'>
/** A caller's share of the database. */
type Share = Pick<DatabaseShare, 'db' | 'transaction'>
type Work = HandlerOutput<'devices_ClaimOperationWork'>['work']

/** A project of which operations are due. */
type Due = { projectId: string; organizationId: string; jobId: string | undefined }

/**
 * Drives operations of devices (docs/operations.md). Each change of an operation is one transaction with its effects, so any node may make
 * it and a node that dies leaves none half done. Operations move on when they are started, when their device reports, when a value of their
 * device changes, and when `due_at` has come.
 */
export class Operations implements AsyncDisposable {
  readonly #options: OperationsOptions
  readonly #db: Db
  readonly #rows: DueRows
  readonly #changed = new Set<string>()
  /** Names of the connections that claim work, by their callers: a connection has one caller for all its calls. */
  readonly #sessions = new WeakMap<DeviceCaller, string>()
  #stopListening: (() => void) | undefined
  #collecting: NodeJS.Timeout | undefined
  #alarm: NodeJS.Timeout | undefined
  #alarmAtMs = Number.POSITIVE_INFINITY
  #running: Promise<void> | undefined
  #isDueAgain = false
  #isStopped = false

  constructor(options: OperationsOptions) {
    const { db, live, jobs, log } = options
    this.#options = options
    this.#db = db
    this.#rows = dueRows<Due, Locked, Saved | 'HubFailed'>({
      db,
      live,
      jobs,
      log,
      table: 'operation_queue',
      key: 'project_id',
      isOpen: sql`due_at is not null`,
      begin: async () => {},
      read: (projectId, jobId) => this.#readProject(projectId, jobId),
      cause: ({ projectId, organizationId, jobId }) => ({
        caller: SYSTEM,
        scope: { projectId, organizationId },
        jobId,
      }),
      portion: () => PORTION,
      claim: (tx, { projectId }, limit) =>
        lockOperations(tx, sql`o.project_id = ${projectId} and o.due_at <= clock_timestamp()`, {
          limit,
          skipLocked: true,
        }),
      ended: async () => new Map(),
      process: async (transaction, _due, items) => {
        const going = items.map(locked => ({ locked, operation: locked.before }))
        const saved = await advance(transaction, options, going)
        await settle(transaction, saved)
        transaction.afterCommit(() => this.#planFor(saved))
        return new Map(saved.map(one => [one.locked.position, one]))
      },
      save: async (tx, { projectId }, results) => {
        const failed = [...results].flatMap(([position, result]) =>
          result === 'HubFailed' ? [position] : [],
        )
        if (failed.length === 0) return
        await sql`
          update device_operation set hub_failures = hub_failures + 1, due_at = now() + interval '1 minute'
           where project_id = ${projectId} and position = any (${failed}::bigint[])`.execute(tx)
      },
      failed: 'HubFailed',
      complete: async ({ projectId }) => {
        await sql`update operation_queue set due_at = null where project_id = ${projectId}`.execute(db)
      },
    })
  }

  /** Begins to follow changes of devices, and looks for operations that are due. */
  start(): void {
    this.#stopListening = this.#options.live.onDevice(deviceId => this.#noteChange(deviceId))
    this.wake()
  }

  /** Processes all operations that are due. Called by the job. */
  async runDue(signal: AbortSignal, jobId: string): Promise<void> {
    await this.#queueDue()
    await this.#rows.runDue(signal, jobId)
    await this.#planNext()
  }

  /** Looks for operations that are due, now. */
  wake(): void {
    if (this.#isStopped) return
    this.#isDueAgain = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Does what can be done for one operation now. A failure is left to the next look at operations that are due. */
  async advance(operationId: string): Promise<void> {
    const { log } = this.#options
    try {
      const [found] = await select<{ projectId: string; organizationId: string }>(
        this.#db,
        `select o.project_id as "projectId", p.organization_id as "organizationId"
           from device_operation o join project p on p.project_id = o.project_id where o.operation_id = $1`,
        [operationId],
      )
      if (!found) return
      await commandTransaction(
        async transaction => {
          const [locked] = await lockOperations(transaction.tx, sql`o.operation_id = ${operationId}`)
          if (!locked) return
          const saved = await advance(transaction, this.#options, [{ locked, operation: locked.before }])
          await settle(transaction, saved)
          transaction.afterCommit(() => this.#planFor(saved))
        },
        { caller: SYSTEM, scope: found },
        this.#options,
      )
    } catch (error) {
      if (!isConnectionError(error)) log.error({ err: error, operationId }, 'an operation did not go on')
      this.wake()
    }
  }

  /** Hands current steps to their device. */
  async claim(caller: DeviceCaller, input: ClaimInput, share: Share): Promise<Work> {
    const kinds = input.kinds ?? DEVICE_OPERATION_WORK_KINDS
    const limit = Math.min(input.limit ?? 1, MAX_CLAIMED_WORK)
    const session = this.#sessionOf(caller)
    // Most polls find no work. They cost this look-up only.
    const offered = await select<{ operation_id: string }>(
      this.#db,
      `select operation_id from device_operation
        where device_id = $1 and work_kind = any ($2::text[]) and claim_session is distinct from $3
        order by started_at, operation_id limit $4`,
      [caller.deviceId, kinds, session, limit],
    )
    if (offered.length === 0) return []
    const ids = offered.map(row => row.operation_id)
    const { deviceId, projectId, organizationId } = caller
    return commandTransaction(
      async transaction => {
        const { tx } = transaction
        const work: Work = []
        const saved: Saved[] = []
        const found = await lockOperations(
          tx,
          sql`o.operation_id = any (${ids}::text[]) and o.device_id = ${deviceId}`,
          {
            limit,
          },
        )
        const byStart = (a: Locked, b: Locked) => a.before.startedAtMs! - b.before.startedAtMs!
        for (const locked of found.toSorted(byStart)) {
          const claim = { claimId: newId('d_op_claim'), session }
          const after = claimed(locked.before, locked.steps, claim, locked.nowMs)
          const step = locked.steps[locked.before.stepIndex]
          if (!after || !kinds.some(kind => kind === step?.kind)) continue
          saved.push({ locked, after, dueAtMs: deadlineOf(after, locked.steps) })
          work.push(await this.#workOf(tx, locked, claim.claimId))
        }
        await settle(transaction, saved)
        return work
      },
      { caller: SYSTEM, scope: { organizationId, projectId, deviceId } },
      withinShare(this.#options, share),
    )
  }

  /** Takes the report of a device about a step, and goes on with its operation. Throws `Forbidden` for an operation of another device. */
  async report(
    caller: DeviceCaller,
    input: ReportInput,
    inputText: string,
    share: Share,
  ): Promise<HandlerOutput<'devices_ReportOperationStep'>> {
    const { deviceId, projectId, organizationId } = caller
    const { deviceOperationId, stepIndex, claimId, report } = input
    const sent = memberText(inputText, 'report')!
    return commandTransaction(
      async transaction => {
        const { tx } = transaction
        const [locked] = await lockOperations(
          tx,
          sql`o.operation_id = ${deviceOperationId} and o.device_id = ${deviceId}`,
        )
        if (!locked) throw refusal()
        const received = { stepIndex, claimId, status: report.status, error: report.error }
        if (!isCurrent(locked.before, received)) return { isSuperseded: true }
        const kept = keptOutput(
          { output: memberText(sent, 'output'), checkpoint: memberText(sent, 'checkpoint') },
          this.#options.limits['operation-output-bytes'],
        )
        await saveOutput(tx, deviceOperationId, stepIndex, kept)
        const after = reported(locked.before, received, locked.nowMs)
        if (after === locked.before) {
          transaction.changed('operations')
          return {}
        }
        const operation = kept.note === undefined ? after : withNote(after, stepIndex, kept.note)
        const saved = await advance(transaction, this.#options, [{ locked, operation }])
        await settle(transaction, saved)
        transaction.afterCommit(() => this.#planFor(saved))
        return {}
      },
      { caller: SYSTEM, scope: { organizationId, projectId, deviceId } },
      withinShare(this.#options, share),
    )
  }

  async #workOf(tx: Db, locked: Locked, claimId: string): Promise<Work[number]> {
    const { operationId, name, stepsText, steps, before } = locked
    const { stepIndex } = before
    const step = steps[stepIndex]!
    if (step.kind !== 'DeviceCommand' && step.kind !== 'DeviceTask')
      throw new Error(`found a step ${step.kind}, expected one of the device`)
    const checkpoint = (await outputsOf(tx, operationId)).get(stepIndex)?.checkpoint ?? undefined
    const input = new RawJson(memberText(stepText(stepsText, stepIndex), 'input')!)
    const { timeoutSecs } = step
    return {
      deviceOperationId: operationId as never,
      claimId: claimId as never,
      operationName: name,
      stepIndex,
      checkpoint,
      // The condition is left out: the hub has evaluated it, and an agent may not know all of its kinds.
      step:
        step.kind === 'DeviceCommand'
          ? { kind: step.kind, command: step.command, input, timeoutSecs }
          : { kind: step.kind, task: step.task, input, timeoutSecs },
    }
  }

  #sessionOf(caller: DeviceCaller): string {
    const known = this.#sessions.get(caller)
    if (known !== undefined) return known
    const session = crypto.randomUUID()
    this.#sessions.set(caller, session)
    return session
  }

  async #readProject(projectId: string, jobId: string | undefined): Promise<Due | undefined> {
    const project = await this.#db
      .selectFrom('project')
      .where('project_id', '=', projectId)
      .select('organization_id')
      .executeTakeFirst()
    return project && { projectId, organizationId: project.organization_id, jobId }
  }

  #noteChange(deviceId: string): void {
    if (this.#changed.size >= MAX_CHANGED) return
    this.#changed.add(deviceId)
    this.#collecting ??= setTimeout(() => void this.#lookAgain(), COLLECT_MS)
  }

  /** Makes the operations due that wait for values of changed devices. */
  async #lookAgain(): Promise<void> {
    this.#collecting = undefined
    const deviceIds = [...this.#changed]
    this.#changed.clear()
    try {
      // Waits for an operation that is just being looked at, which may have read the value from before the change. The second condition
      // is evaluated once, so that no device is looked for while nothing waits.
      const { rows } = await sql`
        with waiting as (
          select operation_id from device_operation where device_id = any (${deviceIds}::text[]) and is_awaiting
             and exists (select from device_operation where is_awaiting)
           order by operation_id for no key update)
        update device_operation o set due_at = now() from waiting w where o.operation_id = w.operation_id
        returning 1`.execute(this.#db)
      if (rows.length > 0) this.wake()
    } catch (error) {
      this.#warn(error, 'operations that wait for changed devices look again later')
    }
  }

  async #run(): Promise<void> {
    while (this.#isDueAgain && !this.#isStopped) {
      this.#isDueAgain = false
      try {
        for (const projectId of await this.#queueDue())
          while (!this.#isStopped && (await this.#rows.runPortion(projectId))) {}
        await this.#planNext()
      } catch (error) {
        this.#warn(error, 'operations that are due were not processed')
        return
      }
    }
  }

  /** Queues the projects with operations that are due. Resolves to their ids. */
  async #queueDue(): Promise<string[]> {
    const { rows } = await sql<{ project_id: string }>`
      insert into operation_queue (project_id, due_at)
      select distinct project_id, now() from device_operation where due_at <= now()
      on conflict (project_id) do update set due_at = least(operation_queue.due_at, excluded.due_at)
      returning project_id`.execute(this.#db)
    return rows.map(row => row.project_id)
  }

  #planFor(saved: readonly Saved[]): void {
    for (const { after, dueAtMs, locked } of saved)
      if (!hasEnded(after) && dueAtMs !== undefined) this.#plan(dueAtMs - locked.nowMs)
  }

  /** Plans the next look by the operation that is due first. */
  async #planNext(): Promise<void> {
    const { rows } = await sql<{ in_ms: number | null }>`
      select extract(epoch from min(due_at) - now())::float8 * 1000 as in_ms from device_operation where due_at is not null`.execute(
      this.#db,
    )
    const inMs = rows[0]?.in_ms
    // What is due now and was left is locked by another node, or has failed.
    if (inMs !== null && inMs !== undefined) this.#plan(Math.max(inMs, 1_000))
  }

  #plan(inMs: number): void {
    const atMs = performance.now() + inMs
    if (this.#isStopped || inMs > AHEAD_MS || atMs >= this.#alarmAtMs) return
    clearTimeout(this.#alarm)
    this.#alarmAtMs = atMs
    this.#alarm = setTimeout(() => {
      this.#alarmAtMs = Number.POSITIVE_INFINITY
      this.wake()
    }, Math.max(0, inMs) + 10)
  }

  #warn(error: unknown, text: string): void {
    if (!isConnectionError(error) && !this.#isStopped) this.#options.log.warn({ err: error }, text)
  }

  /** Ends what this node does for operations. Other nodes go on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    this.#stopListening?.()
    clearTimeout(this.#collecting)
    clearTimeout(this.#alarm)
    await this.#running
  }
}

/** Adds a note to a step that has ended, such as that its output was too large to be kept. */
function withNote(operation: Operation, stepIndex: number, note: string): Operation {
  const state = operation.steps[stepIndex]!
  const error = state.error === undefined ? note : `${state.error} ${note}`
  return { ...operation, steps: operation.steps.with(stepIndex, { ...state, error }) }
}
