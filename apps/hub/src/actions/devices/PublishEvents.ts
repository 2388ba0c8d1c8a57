import { insertEvents } from '../../database/device-events.ts'
import { handler } from '../../handler.ts'

export const devices_PublishEvents = handler('devices_PublishEvents', {
  async byDevice({ caller, services }, { events }) {
    await services.ingest.publishEvents(caller, events)
    return {}
  },

  async byOthers({ tx, changed }, { deviceId, events }) {
    await insertEvents(tx, deviceId, events)
    changed('events')
    return {}
  },
})
