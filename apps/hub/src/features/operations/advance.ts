import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { readValues } from './device-values.ts'
import { type Locked, type Saved, saveOperations } from './operation-rows.ts'
import { hasEnded, namesIn, type Operation, type Steps, todo, written } from './operation-state.ts'
import { type WriteParts, writeStep } from './write-step.ts'

/** Failures of the hub itself after which an operation ends, instead of being tried each minute for ever. */
const MAX_HUB_FAILURES = 20

/** An operation that a transaction has locked, and perhaps changed already. */
type Going = { locked: Locked; operation: Operation }

/**
 * Does all that can be done for operations now: steps on properties, conditions, waits that are over, time-outs. Values are read once for
 * each round, in which each operation does one thing.
 */
export async function advance(
  transaction: CommandTransaction,
  parts: WriteParts,
  operations: readonly Going[],
): Promise<Saved[]> {
  const saved: Saved[] = []
  let open = operations.map(({ locked, operation }) => ({
    locked,
    operation:
      locked.hubFailures >= MAX_HUB_FAILURES
        ? written(
            operation,
            locked.nowMs,
            `The hub failed ${MAX_HUB_FAILURES} times; its log has the reason.`,
          )
        : operation,
  }))
  while (open.length > 0) {
    const [{ locked }] = open as [Going]
    const wanted = new Map<string, Set<string>>()
    for (const { locked, operation } of open) {
      const names = wanted.get(locked.deviceId) ?? new Set<string>()
      for (const name of namesOf(operation, locked.steps)) names.add(name)
      wanted.set(locked.deviceId, names)
    }
    const valuesOf = await readValues(transaction.tx, wanted, new Date(locked.nowMs))
    const still: Going[] = []
    for (const { locked, operation } of open) {
      const values = valuesOf(locked.deviceId)
      const facts = { valueOf: (name: string) => values.get(name), nowMs: locked.nowMs }
      const next = todo(operation, locked.steps, facts)
      if (next.kind === 'Wait') saved.push({ locked, after: operation, dueAtMs: next.dueAtMs })
      else if (next.kind === 'Continue') still.push({ locked, operation: next.operation })
      else {
        const error = await writeStep(transaction, parts, locked, operation.stepIndex, next.step, facts)
        still.push({ locked, operation: written(operation, locked.nowMs, error) })
      }
    }
    open = still
  }
  return saved
}

/** Stores operations, with an audit event for each that has ended, and notifies open consoles. */
export async function settle(
  { tx, events, changed }: CommandTransaction,
  saved: readonly Saved[],
): Promise<void> {
  await saveOperations(tx, saved)
  for (const { locked, after } of saved)
    if (after !== locked.before)
      changed('operations', { projectId: locked.projectId, deviceId: locked.deviceId })
  const over = saved.filter(({ locked, after }) => hasEnded(after) && !hasEnded(locked.before))
  const ends = over.filter(({ after }) => after.status !== 'Cancelled')
  if (ends.length > 0)
    await events.emitEach(
      'devices_OperationEnded',
      ends.map(({ locked: { projectId, deviceId, operationId, name }, after }) => ({
        data: {
          projectId,
          deviceId,
          deviceOperationId: operationId,
          name,
          status: after.status,
          ...(after.lastError !== undefined && { error: after.lastError.slice(0, 500).toWellFormed() }),
        },
      })),
    )
}

/** Names that the next decision about an operation reads. */
function namesOf({ stepIndex, steps: states }: Operation, steps: Steps): Set<string> {
  const step = steps[stepIndex]
  if (!step) return new Set()
  if (states[stepIndex]?.status === 'Pending') return namesIn(step.when)
  if (step.kind === 'WaitForDeviceProperty') return namesIn(step.predicate, step.failWhen)
  if (step.kind === 'UpdateDeviceProperty' && step.mutation.mutation !== 'Remove')
    return namesIn(step.mutation.expr)
  return new Set()
}
