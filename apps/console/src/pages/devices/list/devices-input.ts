import type { ActionInput } from '@muster/actions/client'
import { allDevicesInput } from './all-devices-input.ts'
import { parseConditions } from './conditions.ts'

/** Fields by which the list can be sorted. The last field is the hub's default. */
const SORT_FIELDS = ['name', 'deviceId', 'status', 'pendingCertificatesCount', 'firstSeen']
const DEFAULT_SORT = 'firstSeen'

/** Search parameters of the device list. */
export type DeviceSearch = {
  q?: string
  status?: 'connected' | 'disconnected' | 'pending'
  /** Conditions on properties, as `conditions.ts` writes them. */
  where?: string
  sort?: string
  /** Cursor of the page in view; absent on the first page. */
  cursor?: string
}

/** The order in the search parameters, or the default order if the parameter is invalid. */
export function sortOf({ sort = DEFAULT_SORT }: DeviceSearch): string {
  return SORT_FIELDS.includes(sort.replace(/^-/, '')) ? sort : DEFAULT_SORT
}

/** Input of the query for the device list. */
export function devicesInput(
  projectId: string,
  search: DeviceSearch,
): Omit<ActionInput<'projects_QueryDevices'>, 'cursor'> {
  const text = search.q?.trim()
  const properties = parseConditions(search.where)
  const sort = sortOf(search)
  const filter = {
    ...(text && { text }),
    ...(search.status && { status: search.status }),
    ...(properties.length > 0 && { properties }),
  }
  return {
    ...allDevicesInput(projectId),
    ...(Object.keys(filter).length > 0 && { filter }),
    // `projects_GetSummary` returns the totals per status, so only filters by text or property need a count.
    ...((text || properties.length > 0) && { countTotal: true }),
    ...(sort !== DEFAULT_SORT && { sort }),
  }
}
