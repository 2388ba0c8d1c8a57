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

/** When a query was answered and when it failed, in milliseconds, 0 for never. */
type Answered = { dataUpdatedAt: number; errorUpdatedAt: number }

/**
 * How old a page is that several queries fill: its oldest answer, and the latest failure to replace one. A query that has never been
 * answered counts for nothing, its section says so; nothing at all while that goes for every one.
 */
export function ageOf(queries: readonly Answered[]): { updatedAt: number; failedAt: number } | undefined {
  const answered = queries.filter(({ dataUpdatedAt }) => dataUpdatedAt > 0)
  if (answered.length === 0) return undefined
  const failures = answered
    .filter(({ dataUpdatedAt, errorUpdatedAt }) => errorUpdatedAt > dataUpdatedAt)
    .map(({ errorUpdatedAt }) => errorUpdatedAt)
  return {
    updatedAt: Math.min(...answered.map(({ dataUpdatedAt }) => dataUpdatedAt)),
    failedAt: Math.max(0, ...failures),
  }
}
