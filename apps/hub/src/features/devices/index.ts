// Exports for other features.
export { bulkDeletion } from './bulk-deletion.ts'
export { type DeviceFilter, matchesFilter } from './device-filter.ts'
export { devicesByKeys } from './device-keys.ts'
export { addressMatches, matchOf, searchDevices } from './device-search.ts'
export { eventsByTime } from './events-by-time.ts'
export { namedValue } from './predicate-sql.ts'
