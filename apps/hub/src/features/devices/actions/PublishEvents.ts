import { elementTexts, memberText, RawJson } from '@muster/actions/exact-json'
import { type DeviceEvent, eventRow, insertEvents } from '../../../link/telemetry/device-events.ts'
import { writeSubject } from '../../../platform/limits/write-budgets.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Matches numbers that `JSON.parse` may round: 16 or more digits, or an exponent of three or more digits. */
const INEXACT = /(?<![\d.])[\d.]{16}|\de[+-]?\d{3}/i

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
    await insertEvents(tx, deviceId, rows)
    changed('events')
    return {}
  },
})

/** Replaces bodies and attributes with their JSON texts if a number in the input may lose digits. Agents send 64-bit integers. */
function exactly(events: DeviceEvent[], inputText: string): DeviceEvent[] {
  if (!INEXACT.test(inputText)) return events
  const texts = elementTexts(memberText(inputText, 'events')!)
  const textOf = (index: number, key: string): RawJson => new RawJson(memberText(texts[index]!, key)!)
  return events.map((event, index) => ({
    ...event,
    body: textOf(index, 'body'),
    attributes: textOf(index, 'attributes'),
  }))
}
