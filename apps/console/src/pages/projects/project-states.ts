/** States of devices by which the list of projects is filtered, with the words for projects that have devices in the state. */
export const PROJECT_STATES = {
  connected: 'Projects with connected devices',
  disconnected: 'Projects with disconnected devices',
  error: 'Projects with devices that report an error',
  warning: 'Projects with devices that report a warning',
  pending: 'Projects with pending certificates',
} as const

/** A state of devices by which the list of projects is filtered. */
export type ProjectState = keyof typeof PROJECT_STATES

/** Sort orders of the list of projects. */
export const PROJECT_ORDERS = [
  { value: 'problems', label: 'Problems first' },
  { value: 'name', label: 'Name' },
  { value: '-devices', label: 'Devices' },
] as const

/** A sort order of the list of projects. */
export type ProjectOrder = (typeof PROJECT_ORDERS)[number]['value']
