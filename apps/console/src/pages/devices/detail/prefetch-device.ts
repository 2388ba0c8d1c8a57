import type { QueryClient } from '@tanstack/react-query'
import { isMissing, type JoinedQuery, ONCE, prefetchFrom } from '../../../api/app/joined-queries.ts'
import { actionQuery } from '../../../api/queries.ts'
import { actorsQuery, deviceQueries, pastValuesInput } from './device-queries.ts'
import { HEALTH, OTA_CONFIG, OTA_STATUS } from './property-names.ts'

/** Prefetches what the page of a device shows with one request. */
export function prefetchDevice(queryClient: QueryClient, projectId: string, deviceId: string) {
  const queries: readonly JoinedQuery[] = [
    ...deviceQueries(deviceId),
    actionQuery('devices_GetProperty', { deviceId, name: OTA_CONFIG }),
    actorsQuery(deviceId),
    ...[OTA_STATUS, HEALTH].map(name =>
      actionQuery('devices_QueryPropertyHistory', pastValuesInput(deviceId, name)),
    ),
    actionQuery('projects_GetPins', { projectId }),
  ]
  const inputs: Record<string, object[]> = {}
  const places = queries
    .filter(query => isMissing(queryClient, query))
    .map(query => {
      const [name, input] = query.queryKey as [string, { deviceId?: string; projectId?: string }]
      const { deviceId: _, projectId: __, ...others } = input
      inputs[name] ??= []
      return { query, name, index: inputs[name].push(others) - 1 }
    })
  if (places.length === 0) return
  const page = queryClient.fetchQuery({
    ...actionQuery('devices_GetPage', { deviceId, ...inputs }),
    ...ONCE,
  })
  for (const { query, name, index } of places)
    prefetchFrom(queryClient, query, page, answers => {
      const answer = (answers as Record<string, { nextCursor?: string }[]>)[name]?.[index]
      // `propertiesQuery` loads all pages, so it is sent alone if there are more.
      return name === 'devices_QueryProperties' && answer?.nextCursor !== undefined ? undefined : answer
    })
}
