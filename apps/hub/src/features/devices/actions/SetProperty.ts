import { ActionError } from '@muster/actions'
import { memberText } from '@muster/actions/exact-json'
import {
  isShownInLists,
  refusePropertyOfHub,
  writeProperty,
} from '../../../link/telemetry/device-properties.ts'
import { checkedSize } from '../../../link/telemetry/ingest.ts'
import { writeSubject } from '../../../platform/limits/write-budgets.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Creates or replaces a property. A call by the device is telemetry; any other call is an audited command. */
export const devices_SetProperty = handler('devices_SetProperty', {
  async byDevice({ caller, services, inputText, transaction }, input) {
    if (input.protected !== undefined)
      throw new ActionError('Forbidden', 'Only people set whether a property is protected.')
    refusePropertyOfHub(input.name, caller)
    const { text, sizeBytes } = sentValue(inputText)
    if (input.expectedVersion !== undefined) {
      const { writeBudgets, propertyTotals } = services
      writeBudgets.take(caller, { kind: 'property', sizes: [sizeBytes] })
      const result = await transaction(async tx => {
        await propertyTotals.check(tx, { subject: caller, name: input.name, sizeBytes })
        return writeProperty(tx, caller, { ...input, text })
      })
      if (result.result === 'Set') services.ingest.changed('properties', caller)
      if (result.result === 'Set' && isShownInLists(input.name)) services.ingest.changed('devices', caller)
      return result
    }
    await services.ingest.setProperty(caller, input.name, text)
    return { result: 'Set' as const }
  },

  async byOthers({ tx, events, scope, caller, changed, services, inputText }, input) {
    const { deviceId, name } = input
    refusePropertyOfHub(name, caller)
    const { text, sizeBytes } = sentValue(inputText)
    const subject = writeSubject(scope)
    services.writeBudgets.take(subject, { kind: 'property', sizes: [sizeBytes], isByOtherCaller: true })
    await services.propertyTotals.check(tx, { subject, name, sizeBytes })
    const result = await writeProperty(tx, caller, { ...input, text })
    if (result.result !== 'Set') return result
    await events.emit(
      'devices_PropertySet',
      { projectId: scope.projectId!, deviceId, propertyName: name },
      { old: { value: result.before } },
    )
    changed('properties')
    if (isShownInLists(name)) changed('devices')
    return { result: result.result }
  },
})

/**
 * Returns the JSON text of the value, because properties are stored unchanged. Throws `Invalid` if the value is missing or too
 * large.
 */
function sentValue(inputText: string): { text: string; sizeBytes: number } {
  const text = memberText(inputText, 'value')
  if (text === undefined) throw new ActionError('Invalid', 'value: found nothing, expected JSON')
  return { text, sizeBytes: checkedSize(text) }
}
