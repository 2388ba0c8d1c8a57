import type { DeviceOperationStatus, DeviceOperationStep, DeviceOperationStepStatus } from '@muster/actions'
import type { RawJson } from '@muster/actions/exact-json'
import { elementTexts } from '@muster/actions/exact-json'
import { type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import {
  deadlineOf,
  isAwaiting,
  type Operation,
  type StepState,
  type Steps,
  transitionsBetween,
  workKindOf,
} from './operation-state.ts'

/** Step states in the column `step_states`. */
type StoredStep = { status: string; error?: string; startedAtMs?: number; completedAtMs?: number }

/** Row of an operation with its definition, which a transaction has locked. */
export type OperationRow = {
  position: number
  operation_id: string
  device_id: string
  project_id: string
  organization_id: string
  name: string
  status: string
  step_index: number
  step_states: StoredStep[]
  last_error: string | null
  held_at: Date | null
  claim_id: string | null
  claim_session: string | null
  started_at: Date | null
  completed_at: Date | null
  hub_failures: number
  steps: RawJson
  now: Date
}

/** An operation that a transaction has locked, with its steps and the time of the database. */
export type Locked = {
  position: number
  operationId: string
  deviceId: string
  projectId: string
  organizationId: string
  name: string
  before: Operation
  steps: Steps
  stepsText: string
  hubFailures: number
  nowMs: number
}

const COLUMNS = sql`o.position, o.operation_id, o.device_id, o.project_id, p.organization_id, o.name, o.status, o.step_index,
  o.step_states, o.last_error, o.held_at, o.claim_id, o.claim_session, o.started_at, o.completed_at, o.hub_failures, d.steps,
  clock_timestamp() as now`

/** Locks operations that meet a condition on `o`, in the order of their ids, so that transactions do not wait for each other in a circle. Those that another transaction holds are waited for, or left out. */
export async function lockOperations(
  tx: Tx,
  condition: RawBuilder<unknown>,
  { limit = 1, skipLocked = false }: { limit?: number; skipLocked?: boolean } = {},
): Promise<Locked[]> {
  const { rows } = await sql<OperationRow>`
    select ${COLUMNS} from device_operation o
      join operation_definition d on d.definition_id = o.definition_id
      join project p on p.project_id = o.project_id
     where ${condition}
     order by o.operation_id limit ${limit} for no key update of o ${skipLocked ? sql`skip locked` : sql``}`.execute(
    tx,
  )
  return rows.map(lockedOf)
}

function lockedOf(row: OperationRow): Locked {
  return {
    position: row.position,
    operationId: row.operation_id,
    deviceId: row.device_id,
    projectId: row.project_id,
    organizationId: row.organization_id,
    name: row.name,
    before: operationOf(row),
    steps: row.steps.parse() as DeviceOperationStep[],
    stepsText: row.steps.text,
    hubFailures: row.hub_failures,
    nowMs: row.now.getTime(),
  }
}

/** The operation in the columns of a row. */
export function operationOf(
  row: Pick<
    OperationRow,
    | 'status'
    | 'step_index'
    | 'step_states'
    | 'last_error'
    | 'held_at'
    | 'claim_id'
    | 'claim_session'
    | 'started_at'
    | 'completed_at'
  >,
): Operation {
  return {
    status: row.status as DeviceOperationStatus,
    stepIndex: row.step_index,
    steps: row.step_states.map(state => ({
      ...state,
      status: state.status as DeviceOperationStepStatus,
    })) as StepState[],
    lastError: row.last_error ?? undefined,
    isHeld: row.held_at !== null,
    claim:
      row.claim_id === null || row.claim_session === null
        ? undefined
        : { claimId: row.claim_id, session: row.claim_session },
    startedAtMs: row.started_at?.getTime(),
    completedAtMs: row.completed_at?.getTime(),
  }
}

/** An operation after its change. `dueAtMs` is the time at which the hub looks again. */
export type Saved = { locked: Locked; after: Operation; dueAtMs: number | undefined }

/** Stores operations and their transitions, with one statement for each table. */
export async function saveOperations(tx: Tx, saved: readonly Saved[]): Promise<void> {
  if (saved.length === 0) return
  const of = saved.map(({ locked: { operationId, steps, before }, after, dueAtMs }) => ({
    operation_id: operationId,
    status: after.status,
    step_index: after.stepIndex,
    step_states: after.steps,
    last_error: after.lastError ?? null,
    work_kind: workKindOf(after, steps) ?? null,
    is_awaiting: isAwaiting(after, steps),
    due_at: timeOf(dueAtMs),
    deadline_at: timeOf(deadlineOf(after, steps)),
    is_held: after.isHeld,
    claim_id: after.claim?.claimId ?? null,
    claim_session: after.claim?.session ?? null,
    claimed_until: after.claim ? timeOf(deadlineOf(after, steps)) : null,
    started_at: timeOf(after.startedAtMs),
    completed_at: timeOf(after.completedAtMs),
    is_changed: after !== before,
  }))
  await sql`
    update device_operation o
       set status = c.status, step_index = c.step_index, step_states = c.step_states, last_error = c.last_error,
           work_kind = c.work_kind, is_awaiting = c.is_awaiting, due_at = c.due_at, deadline_at = c.deadline_at,
           held_at = case when c.is_held then coalesce(o.held_at, now()) end,
           claim_id = c.claim_id, claim_session = c.claim_session, claimed_until = c.claimed_until,
           started_at = c.started_at, completed_at = c.completed_at, hub_failures = 0,
           updated_at = case when c.is_changed then now() else o.updated_at end
      from json_to_recordset(${JSON.stringify(of)}::json)
           as c (operation_id text, status text, step_index int, step_states jsonb, last_error text, work_kind text, is_awaiting boolean,
                 due_at timestamptz, deadline_at timestamptz, is_held boolean, claim_id text, claim_session text,
                 claimed_until timestamptz, started_at timestamptz, completed_at timestamptz, is_changed boolean)
     where o.operation_id = c.operation_id`.execute(tx)
  const transitions = saved.flatMap(({ locked: { operationId, before }, after }) =>
    transitionsBetween(before, after).map(({ stepIndex, status, reason }) => ({
      operation_id: operationId,
      step_index: stepIndex ?? null,
      status,
      reason: reason ?? null,
    })),
  )
  await addTransitions(tx, transitions)
}

/** Adds changes to the history of operations. */
export async function addTransitions(
  tx: Tx,
  transitions: readonly {
    operation_id: string
    step_index: number | null
    status: string
    reason: string | null
  }[],
): Promise<void> {
  if (transitions.length > 0)
    await tx
      .insertInto('device_operation_transition')
      .values([...transitions])
      .execute()
}

/** Stores the output or the checkpoint that a device reports for a step. */
export async function saveOutput(
  tx: Tx,
  operationId: string,
  stepIndex: number,
  { output, checkpoint }: { output?: string | undefined; checkpoint?: string | undefined },
): Promise<void> {
  if (output === undefined && checkpoint === undefined) return
  await sql`
    insert into device_operation_output (operation_id, step_index, output, checkpoint)
    values (${operationId}, ${stepIndex}, ${output ?? null}::json, ${checkpoint ?? null}::json)
    on conflict (operation_id, step_index) do update
       set output = coalesce(excluded.output, device_operation_output.output),
           checkpoint = coalesce(excluded.checkpoint, device_operation_output.checkpoint)`.execute(tx)
}

/** Outputs and checkpoints of an operation, by the indexes of the steps. */
export async function outputsOf(db: Db, operationId: string) {
  const rows = await db
    .selectFrom('device_operation_output')
    .where('operation_id', '=', operationId)
    .select(['step_index', 'output', 'checkpoint'])
    .execute()
  return new Map(rows.map(row => [row.step_index, row]))
}

/** JSON text of a step, with its values as they were sent. */
export function stepText(stepsText: string, stepIndex: number): string {
  return elementTexts(stepsText)[stepIndex]!
}

function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
