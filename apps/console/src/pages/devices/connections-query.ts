import { actionQuery } from '../../api/queries.ts'

/** Records that the strip of seven days and the history share; a device with more reconnects about every 20 minutes. */
const LIMIT = 500

/** The connections of a device, newest first, as one query for every block that reads them. */
export function connectionsQuery(deviceId: string) {
  return actionQuery('devices_QueryConnections', { deviceId, limit: LIMIT })
}
