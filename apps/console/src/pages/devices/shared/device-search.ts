import { anyText, oneOf, type SearchOf } from '../../../lib/app/search.ts'
import { HEALTHS, PRESETS } from '../list/attention.ts'

/** Search parameters that filter the device list. */
export const deviceFilters = {
  q: anyText,
  status: oneOf(['connected', 'disconnected', 'pending']),
  // A preset, or in links a health.
  show: oneOf([...PRESETS, ...HEALTHS]),
  health: oneOf(HEALTHS),
  // A predicate in its text form, or conditions in the JSON format of `conditions.ts`.
  where: anyText,
  // Error of failed updates, with `#` in place of numbers and ids.
  error: anyText,
  // `=` and the version that failed updates tried to install, or only `=` for updates that name none. With it, an absent `error` means
  // devices that report no error.
  target: anyText,
  // Condition on the software that devices report, in the JSON format of `software-condition.ts`.
  software: anyText,
  // Beginning of an IP or MAC address.
  address: anyText,
  // Id of the deployment token with which the devices enrolled.
  token: anyText,
  // Id of a bulk action whose devices are listed.
  result: anyText,
}

/**
 * Search parameters of the device list. `view` is the id of a saved view; with it alone, the page takes over the filter and the order of the
 * view. `cursor` is the one of the page in view; it is absent on the first page.
 */
export const devicesSearch = { ...deviceFilters, view: anyText, sort: anyText, cursor: anyText }

/** Values of the search parameters of the device list. */
export type DeviceSearch = SearchOf<typeof devicesSearch>
