import type { ParsedInput } from '@muster/actions'
import { elementTexts, memberText } from '@muster/actions/exact-json'
import { type DeviceEvent, eventRow, insertEvents } from '../../../link/telemetry/device-events.ts'
import { writeSubject } from '../../../platform/limits/write-budgets.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Stores events of a device. A call by the device is telemetry, stored in batches; any other call is an audited command. */
export const devices_PublishEvents = handler('devices_PublishEvents', {
  async byDevice({ caller, services, inputText }, { events }) {
    await services.ingest.publishEvents(caller, exactly(events, inputText))
    return {}
  },

  async byOthers({ tx, scope, changed, services, inputText }, { deviceId, events }) {
    const rows = exactly(events, inputText).map(event => eventRow(deviceId, event))
    const sizes = rows.map(row => row.sizeBytes)
    services.writeBudgets.take(writeSubject(scope), { kind: 'event', sizes, isByOtherCaller: true })
    const isExported = services.ingest.exportsEventsOf(scope.projectId!)
    await insertEvents(tx, { deviceId, isExported }, rows)
    changed('events')
    return {}
  },
})

/** Events with their bodies and attributes as they were sent, because agents send 64-bit integers, which `JSON.parse` rounds. */
function exactly(events: ParsedInput<'devices_PublishEvents'>['events'], inputText: string): DeviceEvent[] {
  const texts = elementTexts(memberText(inputText, 'events')!)
  const textOf = (index: number, key: string): string => memberText(texts[index]!, key)!
  return events.map((event, index) => ({
    ...event,
    body: textOf(index, 'body'),
    attributes: textOf(index, 'attributes'),
  }))
}
