import { ActionError, newId } from '@muster/actions'
import { memberText } from '@muster/actions/exact-json'
import { refusePropertyOfHub } from '../../../link/telemetry/device-properties.ts'
import { refusal } from '../../../platform/access/authorize.ts'
import { requireRoom } from '../../../platform/limits/require-room.ts'
import { writeSubject } from '../../../platform/limits/write-budgets.ts'
import { SYSTEM, wireActor } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { addTransitions } from '../operation-rows.ts'
import { newOperation, type Steps } from '../operation-state.ts'

/** Creates an operation of a device. Its steps are stored as they were sent. */
export const devices_CreateOperation = handler(
  'devices_CreateOperation',
  async (
    { tx, events, changed, services, caller, scope, inputText },
    { deviceId, name, description, steps },
  ) => {
    const stepsText = memberText(inputText, 'steps')!
    const { limits } = services
    const bytes = Buffer.byteLength(stepsText)
    if (bytes > limits['operation-bytes'])
      throw new ActionError(
        'Invalid',
        `steps: found ${bytes} bytes, expected at most ${limits['operation-bytes']}.`,
      )
    const writes = writesOf(steps)
    // Locks the device, so that concurrent calls cannot together exceed the limit.
    const device = await tx
      .selectFrom('device')
      .where('device_id', '=', deviceId)
      .select('project_id')
      .forNoKeyUpdate()
      .executeTakeFirst()
    if (!device) throw refusal()
    const { count } = await tx
      .selectFrom('device_operation')
      .where('device_id', '=', deviceId)
      .where('completed_at', 'is', null)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    const remedy = 'Cancel an operation that is not needed, or wait until one has ended.'
    requireRoom(services, 'device-open-operations', writeSubject(scope), count, remedy)
    const deviceOperationId = newId('d_op')
    const projectId = device.project_id
    await tx
      .insertInto('operation_definition')
      .values({
        definition_id: deviceOperationId,
        project_id: projectId,
        steps: stepsText,
        step_count: steps.length,
      })
      .execute()
    await tx
      .insertInto('device_operation')
      .values({
        operation_id: deviceOperationId,
        device_id: deviceId,
        project_id: projectId,
        definition_id: deviceOperationId,
        name,
        description: description ?? null,
        created_by: JSON.stringify(wireActor(caller)),
        step_count: steps.length,
        step_states: JSON.stringify(newOperation(steps.length).steps),
        writes,
      })
      .execute()
    await addTransitions(tx, [
      { operation_id: deviceOperationId, step_index: null, status: 'Pending', reason: null },
    ])
    await events.emit('devices_OperationCreated', {
      projectId,
      deviceId,
      deviceOperationId,
      name,
      stepCount: steps.length,
    })
    changed('operations', { deviceId })
    return { deviceOperationId }
  },
)

/** Names of the properties that steps change. Throws `Invalid` for those that the hub keeps. */
function writesOf(steps: Steps): string[] {
  const names = new Set<string>()
  for (const [index, step] of steps.entries()) {
    if (!('name' in step)) continue
    try {
      refusePropertyOfHub(step.name, SYSTEM)
    } catch (error) {
      if (error instanceof ActionError) throw new ActionError('Invalid', `steps.${index}.${error.message}`)
      throw error
    }
    names.add(step.name)
  }
  return [...names]
}
