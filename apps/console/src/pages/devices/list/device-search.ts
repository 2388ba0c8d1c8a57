import type { Attention, Health } from './attention.ts'

/** Search parameters that filter the device list. A separate module keeps the page out of the code of its route. */
export const FILTER_PARAMETERS = [
  'q',
  'status',
  // A preset, or in links a health.
  'show',
  'health',
  // Conditions on properties and columns, in the JSON format of `conditions.ts`.
  'where',
  // Error of failed updates, with `#` in place of numbers and ids.
  'error',
  // `=` and the version that failed updates tried to install, or only `=` for updates that name none. With it, an absent `error` means
  // devices that report no error.
  'target',
  // Condition on the software that devices report, in the JSON format of `software-condition.ts`.
  'software',
  // Beginning of an IP or MAC address.
  'address',
  // Id of the deployment token with which the devices enrolled.
  'token',
  // Id of a bulk action whose devices are listed.
  'result',
] as const

type Narrow = { status?: 'connected' | 'disconnected' | 'pending'; show?: Attention; health?: Health }

/** Search parameters of the device list. */
export type DeviceSearch = Narrow & {
  [Name in Exclude<(typeof FILTER_PARAMETERS)[number], keyof Narrow>]?: string
} & {
  sort?: string
  /** Cursor of the page in view; absent on the first page. */
  cursor?: string
}
