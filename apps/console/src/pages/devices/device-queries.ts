import { actionQuery } from '../../api/queries.ts'

/** Events that the page shows (spec 9). */
export const EVENT_LIMIT = 10
/** Records that the strip of seven days and the history share; a device with more reconnects about every 20 minutes. */
const CONNECTION_LIMIT = 500

/** What the latest events of a device are asked for with. */
export const eventsInput = (deviceId: string) => ({ deviceId, limit: EVENT_LIMIT })

/** The connections of a device, newest first, as one query for every block that reads them. */
export function connectionsQuery(deviceId: string) {
  return actionQuery('devices_QueryConnections', { deviceId, limit: CONNECTION_LIMIT })
}

/** Every query whose answers the page of a device shows. */
export function deviceQueries(deviceId: string) {
  return [
    actionQuery('devices_GetDetails', { deviceId }),
    actionQuery('devices_QueryProperties', { deviceId }),
    actionQuery('devices_QueryEvents', eventsInput(deviceId)),
    connectionsQuery(deviceId),
  ] as const
}
