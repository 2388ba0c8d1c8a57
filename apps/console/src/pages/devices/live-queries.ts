import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about devices that live changes affect. */
export const deviceQueries = {
  projects_QueryDevices: { devices: 'projectId', certificates: 'projectId', connections: 'projectId' },
  projects_QueryBlockedDevices: { devices: 'projectId' },
  projects_QueryDeviceCounts: { devices: 'projectId', certificates: 'projectId' },
  devices_GetDetails: { devices: 'deviceId', certificates: 'deviceId', connections: 'deviceId' },
  devices_QueryConnections: { connections: 'deviceId' },
  devices_GetConnectionHistory: { connections: 'deviceId' },
  devices_QueryProperties: { properties: 'deviceId' },
  devices_GetProperty: { properties: 'deviceId' },
  devices_QueryPropertyHistory: { properties: 'deviceId' },
  devices_GetProblemRun: { properties: 'deviceId' },
  devices_QueryEvents: { events: 'deviceId' },
} satisfies LiveQueries<'devices'>
