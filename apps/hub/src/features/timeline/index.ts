// Exports for other features.
export { devices_QueryTimeline } from './actions/QueryTimeline.ts'
