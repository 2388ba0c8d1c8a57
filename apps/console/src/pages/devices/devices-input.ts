import type { ActionInput } from '@muster/actions/client'

const PAGE_SIZE = 100

/** Fields that the list can be sorted by; the hub's own order is the last one. */
const SORT_FIELDS = ['name', 'deviceId', 'status', 'pendingCertificatesCount', 'firstSeen']
const DEFAULT_SORT = 'firstSeen'

/** What stands in the address of a device list. */
export type DeviceSearch = { q?: string; status?: 'connected' | 'disconnected' | 'pending'; sort?: string }

/** The order that an address asks for, the default one when it is none of ours. */
export function sortOf({ sort = DEFAULT_SORT }: DeviceSearch): string {
  return SORT_FIELDS.includes(sort.replace(/^-/, '')) ? sort : DEFAULT_SORT
}

/** What the device list asks for first, in a module of its own so that a loader can ask ahead. */
export function devicesInput(
  projectId: string,
  search: DeviceSearch,
): Omit<ActionInput<'projects_QueryDevices'>, 'cursor'> {
  const text = search.q?.trim()
  const sort = sortOf(search)
  return {
    projectId,
    limit: PAGE_SIZE,
    ...((text || search.status) && {
      filter: { ...(text && { text }), ...(search.status && { status: search.status }) },
    }),
    ...(sort !== DEFAULT_SORT && { sort }),
  }
}
