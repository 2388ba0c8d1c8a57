import { type ActionInput, isColumnPath, isPropertyName } from '@muster/actions/client'
import { type DeviceSortName, SORT_NAMES } from '@muster/predicates'
import type { Where } from '../predicate/read-where.ts'
import type { DeviceSearch } from '../shared/device-search.ts'
import { parseSoftware } from '../shared/software-condition.ts'
import { allDevicesInput, DEFAULT_SORT } from './all-devices-input.ts'
import { filterOfAttention } from './attention.ts'

/** The sort order in the search parameter `sort`, or the default one if the parameter is absent or invalid. */
export function sortOf({ sort = DEFAULT_SORT }: DeviceSearch): string {
  const property = sortedProperty(sort)
  const isKnown =
    property === undefined
      ? SORT_NAMES.includes(sort.replace(/^-/, '') as DeviceSortName)
      : isPropertyName(property) && isColumnPath(property)
  return isKnown ? sort : DEFAULT_SORT
}

/** The name of the property in a sort order such as `-=modem.signal`; `undefined` if the list is not sorted by a property. */
export function sortedProperty(sort: string): string | undefined {
  return /^-?=(.+)$/.exec(sort)?.[1]
}

/** Input of the query for the device list. `where` is the filter of the search parameter `where`, `columns` are paths of properties. */
export function devicesInput(
  projectId: string,
  search: DeviceSearch,
  where: Where['filter'] = {},
  columns: readonly string[] = [],
): Omit<ActionInput<'projects_QueryDevices'>, 'cursor'> {
  const text = search.q?.trim()
  const software = parseSoftware(search.software)
  const sort = sortOf(search)
  const filter = {
    ...(text && { text }),
    ...(search.status && { status: search.status }),
    ...(search.show && filterOfAttention(search.show)),
    ...(search.health && { health: search.health }),
    ...(search.result && { bulkActionId: search.result }),
    ...(search.address && { address: search.address }),
    ...(search.token && { tokenId: search.token }),
    ...where,
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
