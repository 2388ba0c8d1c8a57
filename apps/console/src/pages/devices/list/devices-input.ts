import { type ActionInput, isColumnPath } from '@muster/actions/client'
import { allDevicesInput, DEFAULT_SORT } from './all-devices-input.ts'
import { ATTENTION, type Attention, type Health } from './attention.ts'
import { filterOfConditions, parseConditions } from './conditions.ts'
import { parseSoftware } from './software-condition.ts'

/** Valid sort orders of the list: a field, or `=` and the name of a property. A leading `-` means descending. */
const SORT =
  /^-?(?:name|deviceId|status|pendingCertificatesCount|firstSeen|lastSeenAt|=[a-zA-Z0-9][a-zA-Z0-9._-]{0,255})$/

/** Search parameters of the device list. */
export type DeviceSearch = {
  q?: string
  status?: 'connected' | 'disconnected' | 'pending'
  /** A preset, or in links a health. */
  show?: Attention
  health?: Health
  /** Error of failed updates, with `#` in place of numbers and ids. */
  error?: string
  /**
   * `=` and the version that failed updates tried to install, or only `=` for updates that name none. With it, an absent `error` means
   * devices that report no error.
   */
  target?: string
  /** Condition on the software that devices report, in the JSON format of `software-condition.ts`. */
  software?: string
  /** Conditions on properties, in the JSON format of `conditions.ts`. */
  where?: string
  sort?: string
  /** Beginning of an IP or MAC address. */
  address?: string
  /** Id of the deployment token with which the devices enrolled. */
  token?: string
  /** Id of a bulk action whose devices are listed. */
  result?: string
  /** Cursor of the page in view; absent on the first page. */
  cursor?: string
}

/** The sort order in the search parameter `sort`, or the default one if the parameter is absent or invalid. */
export function sortOf({ sort = DEFAULT_SORT }: DeviceSearch): string {
  return SORT.test(sort) && isColumnPath(sort) ? sort : DEFAULT_SORT
}

/** The name of the property in a sort order such as `-=modem.signal`; `undefined` if the list is not sorted by a property. */
export function sortedProperty(sort: string): string | undefined {
  return /^-?=(.+)$/.exec(sort)?.[1]
}

/** Input of the query for the device list. `columns` are paths of properties. */
export function devicesInput(
  projectId: string,
  search: DeviceSearch,
  columns: readonly string[] = [],
): Omit<ActionInput<'projects_QueryDevices'>, 'cursor'> {
  const text = search.q?.trim()
  const conditions = filterOfConditions(parseConditions(search.where))
  const software = parseSoftware(search.software)
  const sort = sortOf(search)
  const filter = {
    ...(text && { text }),
    ...(search.status && { status: search.status }),
    ...(search.show && ATTENTION[search.show]),
    ...(search.health && { health: search.health }),
    ...(search.result && { bulkActionId: search.result }),
    ...(search.address && { address: search.address }),
    ...(search.token && { tokenId: search.token }),
    ...conditions,
    ...(search.target
      ? { updateFailure: { targetVersion: search.target.slice(1), error: search.error } }
      : search.error && { updateError: search.error }),
    ...(software && { software }),
  }
  return {
    ...allDevicesInput(projectId),
    ...(Object.keys(filter).length > 0 && { filter }),
    ...(columns.length > 0 && { columns: [...columns] }),
    sort,
  }
}
