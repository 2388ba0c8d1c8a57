import type { ActionInput } from '@muster/actions/client'
import { allDevicesInput } from './all-devices-input.ts'
import { parseConditions } from './conditions.ts'

/** Fields that the list can be sorted by; the hub's own order is the last one. */
const SORT_FIELDS = ['name', 'deviceId', 'status', 'pendingCertificatesCount', 'firstSeen']
const DEFAULT_SORT = 'firstSeen'

/** What stands in the address of a device list. */
export type DeviceSearch = {
  q?: string
  status?: 'connected' | 'disconnected' | 'pending'
  /** Conditions on properties, as `conditions.ts` writes them. */
  where?: string
  sort?: string
  /** Where in the list one is: the cursor of the page in view, nothing on the first. */
  cursor?: string
}

/** The order that an address asks for, the default one when it is none of ours. */
export function sortOf({ sort = DEFAULT_SORT }: DeviceSearch): string {
  return SORT_FIELDS.includes(sort.replace(/^-/, '')) ? sort : DEFAULT_SORT
}

/** What the device list asks for first. */
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
    // How many devices have a status the summary tells.
    ...((text || properties.length > 0) && { countTotal: true }),
    ...(sort !== DEFAULT_SORT && { sort }),
  }
}
