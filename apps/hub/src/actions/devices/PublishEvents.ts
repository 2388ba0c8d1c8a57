import { handler } from '../../handler.ts'

export const devices_PublishEvents = handler('devices_PublishEvents', {
  async byDevice({ caller, services }, { events }) {
    await services.ingest.publishEvents(caller, events)
    return {}
  },

  async byOthers({ services, scope }, { deviceId, events }) {
    const place = { deviceId, projectId: scope.projectId!, organizationId: scope.organizationId! }
    await services.ingest.publishEvents(place, events)
    return {}
  },
})
