import type { ActionOutput } from '@muster/actions/client'
import { queryOptions } from '@tanstack/react-query'
import { invoke } from '../../../api/client.ts'
import { actionQuery } from '../../../api/queries.ts'
import { HEALTH, OTA_STATUS, SYSTEM_INFO_NAMES } from './property-names.ts'

/** Number of events that the page of a device shows (docs/specification.md 9). */
export const EVENT_LIMIT = 10
/** Limit of the list of connections. */
const CONNECTION_LIMIT = 500

/** Input of the query for the latest events. */
export const eventsInput = (deviceId: string) => ({ deviceId, limit: EVENT_LIMIT })

/** Number of past values of a property that are read to find out how updates went and which problem ended last. */
const PAST_VALUES = 100

/** Input of the query for the past values of a property. All parts of the page share it. */
export const pastValuesInput = (deviceId: string, name: string) => ({ deviceId, name, limit: PAST_VALUES })

/** The connections of a device, newest first. All sections of the device page share this query. */
export function connectionsQuery(deviceId: string) {
  return actionQuery('devices_QueryConnections', { deviceId, limit: CONNECTION_LIMIT })
}

/** Size of a value's JSON in bytes above which the list of properties truncates the value. */
const MAX_LISTED_VALUE_BYTES = 4096
/** Number of properties per request. */
const PROPERTIES_A_PAGE = 500

type PropertyPage = ActionOutput<'devices_QueryProperties'>

/**
 * All properties of a device as one query. The query loads them in pages and has large values truncated, so that each
 * answer is bounded.
 */
export function propertiesQuery(deviceId: string) {
  const input = {
    deviceId,
    limit: PROPERTIES_A_PAGE,
    maxValueBytes: MAX_LISTED_VALUE_BYTES,
  }
  return queryOptions<Pick<PropertyPage, 'properties'>>({
    ...actionQuery('devices_QueryProperties', input),
    queryFn: async ({ signal }) => {
      const pages: PropertyPage[] = []
      for (let cursor: string | undefined; ; ) {
        const page = await invoke(
          'devices_QueryProperties',
          { ...input, ...(cursor && { cursor }) },
          { signal },
        )
        pages.push(page)
        cursor = page.nextCursor
        if (cursor === undefined) break
      }
      return { properties: Object.fromEntries(pages.flatMap(page => Object.entries(page.properties))) }
    },
  })
}

/**
 * Query for the actors of the last property changes of a device, for the first 500 properties by name. It is separate from
 * `propertiesQuery`, because the hub reads the history of each property, which takes several times as long as reading the properties.
 */
export function actorsQuery(deviceId: string) {
  const input = { deviceId, limit: PROPERTIES_A_PAGE, maxValueBytes: 1, withActors: true }
  return actionQuery('devices_QueryProperties', input)
}

/** Names of properties that parts of the device page load with their own queries, with their whole values. */
const OWN_PROPERTIES = [OTA_STATUS, HEALTH, ...SYSTEM_INFO_NAMES]

/** All queries of a device's page. */
export function deviceQueries(deviceId: string) {
  return [
    actionQuery('devices_GetDetails', { deviceId }),
    propertiesQuery(deviceId),
    ...OWN_PROPERTIES.map(name => actionQuery('devices_GetProperty', { deviceId, name })),
    actionQuery('devices_QueryEvents', eventsInput(deviceId)),
    connectionsQuery(deviceId),
  ] as const
}
