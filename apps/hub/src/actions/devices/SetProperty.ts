import { ActionError } from '@muster/actions'
import { summaryColumnOf, writeProperty } from '../../database/device-properties.ts'
import { checkValueSize } from '../../gateway/ingest.ts'
import { handler } from '../../handler.ts'
import { memberText } from '../../raw-json.ts'

export const devices_SetProperty = handler('devices_SetProperty', {
  async byDevice({ caller, services, inputText, db }, input) {
    if (input.protected !== undefined)
      throw new ActionError('Forbidden', 'Only people set whether a property is protected.')
    const text = valueText(inputText)
    if (input.expectedVersion !== undefined) {
      const result = await db.transaction().execute(tx => writeProperty(tx, caller, { ...input, text }))
      if (result.result === 'Set') services.ingest.changed('properties', caller)
      if (result.result === 'Set' && summaryColumnOf(input.name)) services.ingest.changed('devices', caller)
      return result
    }
    await services.ingest.setProperty(caller, input.name, text)
    return { result: 'Set' as const }
  },

  async byOthers({ tx, events, scope, caller, changed, inputText }, input) {
    const { deviceId, name } = input
    const text = valueText(inputText)
    const result = await writeProperty(tx, caller, { ...input, text })
    if (result.result !== 'Set') return result
    await events.emit('devices_PropertySet', { projectId: scope.projectId!, deviceId, propertyName: name })
    changed('properties')
    if (summaryColumnOf(name)) changed('devices')
    return result
  },
})

/** The value as it was written, so that it comes back unchanged. */
function valueText(inputText: string): string {
  const text = memberText(inputText, 'value')
  if (text === undefined) throw new ActionError('Invalid', 'value: required')
  checkValueSize(text)
  return text
}
