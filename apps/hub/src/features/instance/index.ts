// Exports for commands of the hub.
export { readDevices } from './health.ts'
export { readHealth } from './read-health.ts'
