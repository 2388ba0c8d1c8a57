import {
  DEFAULT_COMMAND_SECS,
  DEFAULT_TASK_SECS,
  type DeviceOperationStatus,
  type DeviceOperationStep,
  type DeviceOperationStepStatus,
  type DeviceOperationWorkKind,
} from '@muster/actions'
import { evaluate, type Json, type JsonExpr, type Outcome, partsOf, printPredicate } from '@muster/predicates'

/** State of one step. Times are in milliseconds since 1970. */
export type StepState = {
  status: DeviceOperationStepStatus
  error?: string | undefined
  startedAtMs?: number | undefined
  completedAtMs?: number | undefined
}

/**
 * A step that a device has taken over. `session` names the connection over which it did: a poll over another one means that the agent
 * has been restarted or has lost the answer, so the step is handed out again under a new claim.
 */
export type Claim = { claimId: string; session: string }

/**
 * An operation of a device: what happened until now, without its steps. Functions of this module return a changed operation, or the same
 * one if nothing changes. They know no database and no clock. `claim` is that of the current step. A held operation does nothing and
 * offers nothing until it is released.
 */
export type Operation = {
  status: DeviceOperationStatus
  stepIndex: number
  steps: readonly StepState[]
  lastError?: string | undefined
  claim?: Claim | undefined
  isHeld: boolean
  startedAtMs?: number | undefined
  completedAtMs?: number | undefined
}

/** Definition of the steps of an operation. */
export type Steps = readonly DeviceOperationStep[]

/** What is known of a device at a moment. */
export type Facts = { valueOf: (name: string) => Json | undefined; nowMs: number }

/** A step on a property that the hub does. */
export type PropertyStep = Extract<
  DeviceOperationStep,
  { kind: 'SetDeviceProperty' | 'UpdateDeviceProperty' | 'RemoveDeviceProperty' }
>

/**
 * What is to be done for an operation: continue with the changed operation, write a property and call `written`, or wait. `dueAtMs` is
 * the time at which to look again, which also is that of the time-out; undefined while only a report or a person moves it on.
 */
export type Todo =
  | { kind: 'Continue'; operation: Operation }
  | { kind: 'Write'; step: PropertyStep }
  | { kind: 'Wait'; dueAtMs: number | undefined }

/** Longest time until a step that waits for a property looks again, in milliseconds. Writes of properties wake it before. */
export const LOOK_AGAIN_MS = 600_000
/** Longest error of a step, in characters. */
const MAX_ERROR_LENGTH = 4096

/** Statuses after which an operation never changes. */
const FINAL: ReadonlySet<DeviceOperationStatus> = new Set(['Succeeded', 'Failed', 'TimedOut', 'Cancelled'])

/** A new operation with this number of steps. */
export function newOperation(stepCount: number): Operation {
  return {
    status: 'Pending',
    stepIndex: 0,
    steps: Array.from({ length: stepCount }, () => ({ status: 'Pending' })),
    isHeld: false,
  }
}

/** Whether an operation has ended. */
export function hasEnded({ status }: Operation): boolean {
  return FINAL.has(status)
}

/** Starts a pending operation. Any other stays as it is. */
export function started(operation: Operation, nowMs: number): Operation {
  return operation.status === 'Pending' ? { ...operation, status: 'Running', startedAtMs: nowMs } : operation
}

/** Cancels an operation that has not ended. */
export function cancelled(operation: Operation, nowMs: number, reason: string): Operation {
  return hasEnded(operation) ? operation : ended(operation, nowMs, 'Cancelled', 'Failed', reason)
}

/** Holds a running operation, and makes its claim void. */
export function held(operation: Operation): Operation {
  if (operation.status !== 'Running' || operation.isHeld) return operation
  return { ...operation, isHeld: true, claim: undefined }
}

/** Lets a held operation go on. The clock of its current step begins again. */
export function released(operation: Operation, nowMs: number): Operation {
  if (!operation.isHeld) return operation
  return withStep({ ...operation, isHeld: false }, step =>
    step.status === 'Running' ? { ...step, startedAtMs: nowMs } : step,
  )
}

/** Time at which the current step times out; undefined if it has no time-out or has not begun. */
export function deadlineOf({ status, isHeld, stepIndex, steps }: Operation, of: Steps): number | undefined {
  const state = steps[stepIndex]
  if (status !== 'Running' || isHeld || state?.status !== 'Running') return undefined
  const secs = timeoutSecsOf(of[stepIndex]!)
  return secs === undefined ? undefined : state.startedAtMs! + secs * 1000
}

/** What is to be done next. */
export function todo(operation: Operation, steps: Steps, facts: Facts): Todo {
  const { nowMs } = facts
  const step = steps[operation.stepIndex]
  const state = operation.steps[operation.stepIndex]
  if (operation.status !== 'Running' || operation.isHeld) return { kind: 'Wait', dueAtMs: undefined }
  if (!step || !state)
    return { kind: 'Continue', operation: { ...operation, status: 'Succeeded', completedAtMs: nowMs } }
  if (state.status === 'Pending') return { kind: 'Continue', operation: begun(operation, step, facts) }
  if ('name' in step) return { kind: 'Write', step }
  if (step.kind === 'WaitForDeviceProperty') {
    if (step.failWhen && evaluate(step.failWhen, facts) === true)
      return { kind: 'Continue', operation: failed(operation, nowMs, matchedText(step.failWhen, facts)) }
    // The property may have been written in time although the hub looks late, so the time-out comes second.
    if (evaluate(step.predicate, facts) === true)
      return { kind: 'Continue', operation: succeeded(operation, nowMs) }
  }
  const deadlineMs = deadlineOf(operation, steps)
  if (deadlineMs !== undefined && nowMs >= deadlineMs)
    return { kind: 'Continue', operation: timedOut(operation, steps, nowMs) }
  if (step.kind !== 'WaitForDeviceProperty') return { kind: 'Wait', dueAtMs: deadlineMs }
  return { kind: 'Wait', dueAtMs: Math.min(deadlineMs ?? Number.POSITIVE_INFINITY, nowMs + LOOK_AGAIN_MS) }
}

/** Ends the current step on a property, which was written, or could not be written for a reason. */
export function written(operation: Operation, nowMs: number, error?: string): Operation {
  return error === undefined ? succeeded(operation, nowMs) : failed(operation, nowMs, error)
}

/** Kind of the work that an operation has for its device; undefined if it has none. */
export function workKindOf(
  { status, isHeld, stepIndex, steps }: Operation,
  of: Steps,
): DeviceOperationWorkKind | undefined {
  const step = of[stepIndex]
  if (status !== 'Running' || isHeld || steps[stepIndex]?.status !== 'Running') return undefined
  return step?.kind === 'DeviceCommand' || step?.kind === 'DeviceTask' ? step.kind : undefined
}

/** Whether an operation waits for a property of its device. */
export function isAwaiting({ status, isHeld, stepIndex, steps }: Operation, of: Steps): boolean {
  const isRunning = status === 'Running' && !isHeld && steps[stepIndex]?.status === 'Running'
  return isRunning && of[stepIndex]?.kind === 'WaitForDeviceProperty'
}

/** Hands the current step out. Resolves to undefined if there is none, or if the same session has it. */
export function claimed(
  operation: Operation,
  steps: Steps,
  claim: Claim,
  nowMs: number,
): Operation | undefined {
  if (workKindOf(operation, steps) === undefined || operation.claim?.session === claim.session)
    return undefined
  const deadlineMs = deadlineOf(operation, steps)
  if (deadlineMs !== undefined && nowMs >= deadlineMs) return undefined
  return { ...operation, claim }
}

/** A report of a device about a step. */
export type Report = {
  stepIndex: number
  claimId: string
  status: 'Running' | 'Succeeded' | 'Failed'
  error?: string | undefined
}

/** Whether a report is about the current claim of the current step. Any other changes nothing. */
export function isCurrent(operation: Operation, { stepIndex, claimId }: Report): boolean {
  return (
    operation.status === 'Running' &&
    operation.stepIndex === stepIndex &&
    operation.claim?.claimId === claimId
  )
}

/** Applies a report. */
export function reported(operation: Operation, report: Report, nowMs: number): Operation {
  if (!isCurrent(operation, report) || report.status === 'Running') return operation
  return report.status === 'Succeeded'
    ? succeeded(operation, nowMs)
    : failed(operation, nowMs, report.error ?? 'The device reported a failure without a reason.')
}

/** A change of the status of an operation, or of one of its steps. */
export type Transition = { stepIndex?: number; status: string; reason?: string }

/** Changes of the statuses between two states of an operation, those of steps first. */
export function transitionsBetween(before: Operation, after: Operation): Transition[] {
  const changes: Transition[] = []
  for (const [stepIndex, { status, error }] of after.steps.entries())
    if (status !== before.steps[stepIndex]?.status)
      changes.push({ stepIndex, status, ...(error !== undefined && { reason: error }) })
  const { stepIndex, claim, status, isHeld, lastError } = after
  if (claim !== undefined && claim.claimId !== before.claim?.claimId)
    changes.push({ stepIndex, status: 'Claimed' })
  if (isHeld !== before.isHeld) changes.push({ status: isHeld ? 'Held' : 'Released' })
  if (status !== before.status)
    changes.push({ status, ...(lastError !== undefined && { reason: lastError }) })
  return changes
}

/** What an unfinished operation waits for, in words. */
export function waitingText(operation: Operation, steps: Steps, isConnected: boolean): string | undefined {
  if (hasEnded(operation)) return undefined
  if (operation.isHeld) return 'held after a restore: start it again'
  if (operation.status === 'Pending') return 'not started'
  const step = steps[operation.stepIndex]
  if (step?.kind === 'WaitForDeviceProperty')
    return `waits until ${printPredicate(step.predicate).slice(0, 300)}`
  if (step?.kind !== 'DeviceCommand' && step?.kind !== 'DeviceTask') return 'the hub is about to go on'
  const work = step.kind === 'DeviceCommand' ? `the command ${step.command}` : `the task ${step.task}`
  if (operation.claim)
    return isConnected ? `the device does ${work}` : `the device has ${work} and is offline`
  return isConnected ? `the device has not asked for ${work} yet` : `the device is offline; then ${work}`
}

function begun(operation: Operation, step: DeviceOperationStep, facts: Facts): Operation {
  const { nowMs } = facts
  const outcome: Outcome = step.when ? evaluate(step.when, facts) : true
  if (outcome === true)
    return withStep(operation, state => ({ ...state, status: 'Running', startedAtMs: nowMs }))
  if (outcome === false) return next(operation, nowMs, 'Skipped')
  const begins = withStep(operation, state => ({ ...state, startedAtMs: nowMs }))
  return failed(begins, nowMs, `The condition of the step could not be evaluated: ${outcome.reason}`)
}

function next(operation: Operation, nowMs: number, status: 'Succeeded' | 'Skipped'): Operation {
  const over = withStep(operation, state => ({ ...state, status, completedAtMs: nowMs }))
  return { ...over, stepIndex: operation.stepIndex + 1, claim: undefined }
}

function succeeded(operation: Operation, nowMs: number): Operation {
  return next(operation, nowMs, 'Succeeded')
}

function failed(operation: Operation, nowMs: number, error: string): Operation {
  return ended(operation, nowMs, 'Failed', 'Failed', error)
}

function timedOut(operation: Operation, steps: Steps, nowMs: number): Operation {
  const secs = timeoutSecsOf(steps[operation.stepIndex]!)
  return ended(operation, nowMs, 'TimedOut', 'TimedOut', `The step did not end within ${secs} s.`)
}

/** Ends an operation. Its current step ends with it if it has begun, or if it is the reason. */
function ended(
  operation: Operation,
  nowMs: number,
  status: DeviceOperationStatus,
  stepStatus: DeviceOperationStepStatus,
  reason: string,
): Operation {
  const lastError = reason.slice(0, MAX_ERROR_LENGTH).toWellFormed()
  const over = withStep(operation, state =>
    state.status === 'Running' || status !== 'Cancelled'
      ? { ...state, status: stepStatus, error: lastError, completedAtMs: nowMs }
      : state,
  )
  return { ...over, status, lastError, claim: undefined, isHeld: false, completedAtMs: nowMs }
}

function withStep(operation: Operation, change: (state: StepState) => StepState): Operation {
  const { stepIndex, steps } = operation
  const state = steps[stepIndex]
  return state === undefined ? operation : { ...operation, steps: steps.with(stepIndex, change(state)) }
}

function timeoutSecsOf(step: DeviceOperationStep): number | undefined {
  switch (step.kind) {
    case 'DeviceCommand':
      return step.timeoutSecs ?? DEFAULT_COMMAND_SECS
    case 'DeviceTask':
      return step.timeoutSecs ?? DEFAULT_TASK_SECS
    case 'WaitForDeviceProperty':
      return step.timeoutSecs
    default:
      return undefined
  }
}

/** Why a step fails at once: the condition, and the values that it has read. */
function matchedText(condition: JsonExpr, facts: Facts): string {
  const values = [...namesIn(condition)].map(
    name => `${name} is ${JSON.stringify(facts.valueOf(name) ?? null).slice(0, 1000)}`,
  )
  return `Found ${printPredicate(condition).slice(0, 1000)}: ${values.join(', ')}`.slice(0, MAX_ERROR_LENGTH)
}

/** Names of the properties and fields that expressions read. */
export function namesIn(...exprs: readonly (JsonExpr | undefined)[]): Set<string> {
  const names = new Set<string>()
  const visit = (expr: JsonExpr): void => {
    if (expr.kind === 'NamedValue') names.add(expr.name)
    for (const [, part] of partsOf(expr)) visit(part)
  }
  for (const expr of exprs) if (expr) visit(expr)
  return names
}
