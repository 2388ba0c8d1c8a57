import { elementTexts, RawJson } from '@muster/actions/exact-json'
import { ownersOf } from '../../../platform/access/owners.ts'
import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { type OperationRow, operationOf, outputsOf } from '../operation-rows.ts'
import { hasEnded } from '../operation-state.ts'
import { operationsWithDevices, summaryOf } from '../operation-summary.ts'

/** Maximum number of changes in an answer. */
const TRANSITIONS = 200

/** Returns an operation. The answer for an operation that the caller may not see is that for an absent one. */
export const devices_GetOperation = handler(
  'devices_GetOperation',
  async ({ db, caller }, { deviceOperationId }) => {
    const person = personOf(caller)
    const scope = await ownersOf('deviceOperation')(db, deviceOperationId, person?.userId, undefined)
    // Reads of administrators of the instance in foreign organizations are audited, which this query cannot do.
    const isPermitted = scope?.rights?.has('operation.view') || caller.actor === 'System'
    if (!isPermitted) return { result: 'NotFound' as const }
    const row = await operationsWithDevices(db)
      .where('o.operation_id', '=', deviceOperationId)
      .executeTakeFirst()
    if (!row) return { result: 'NotFound' as const }
    const operation = operationOf(row as unknown as OperationRow)
    const outputs = await outputsOf(db, deviceOperationId)
    const transitions = await db
      .selectFrom('device_operation_transition')
      .where('operation_id', '=', deviceOperationId)
      .select(['at', 'step_index', 'status', 'reason'])
      .orderBy('at', 'desc')
      .limit(TRANSITIONS)
      .execute()
    return {
      result: 'Found' as const,
      summary: summaryOf(row),
      steps: elementTexts((row.steps as RawJson).text).map(text => new RawJson(text)),
      stepStates: operation.steps.map(({ status, error, startedAtMs, completedAtMs }, stepIndex) => {
        const reported = outputs.get(stepIndex)
        // The trigger that cancels the operations of a deleted device leaves the states of their steps.
        const isLeft = status === 'Running' && hasEnded(operation)
        return {
          stepIndex,
          status: isLeft ? ('Failed' as const) : status,
          output: reported?.output ?? undefined,
          error: isLeft ? operation.lastError : error,
          startedAt: timeOf(startedAtMs),
          completedAt: timeOf(isLeft ? operation.completedAtMs : completedAtMs),
          checkpoint: reported?.checkpoint ?? undefined,
        }
      }),
      transitions: transitions.toReversed().map(({ at, step_index, status, reason }) => ({
        at: wireTime(at),
        stepIndex: step_index ?? undefined,
        status,
        reason: reason ?? undefined,
      })),
    }
  },
)

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : wireTime(new Date(ms))
}
