import { removeOldConnections } from '../../link/gateway/old-connections.ts'
import { removeOldProxyTokens } from '../../link/proxy/proxy-tokens.ts'
import { event } from '../../platform/audit/events.ts'
import { removeOldStoredBytes } from '../../platform/limits/stored-bytes.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import * as jobs from './jobs/index.ts'
import { owners } from './owners.ts'
import { exportList } from './routes-export.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `devices_Create`, and when a new device connects. */
  devices_Created: event<{ deviceId: string; projectId: string }>({ ids: ['deviceId', 'projectId'] }),
  /** Written by `devices_Delete`, `devices_Block`, and for each device by a bulk action. */
  devices_Deleted: event<{ deviceId: string; projectId: string }>({ ids: ['deviceId', 'projectId'] }),
  /** Written by `devices_Block`, after `devices_Deleted`. */
  devices_Blocked: event<{
    projectId: string
    deviceId: string
    blockId: string
    certificateCount: number
    sharedCertificateCount: number
  }>({ ids: ['projectId', 'deviceId', 'blockId'] }),
  /** Written by `projects_UnblockDevice`. */
  projects_DeviceUnblocked: event<{ projectId: string; deviceId: string; blockId: string }>({
    ids: ['projectId', 'deviceId', 'blockId'],
  }),
  /** Written by `devices_SetName`. */
  devices_NameChanged: event<{ projectId: string; deviceId: string; name?: string }>({
    ids: ['projectId', 'deviceId'],
  }),
  /** Written by `devices_SetProperty`, if the caller is not the device itself. */
  devices_PropertySet: event<{ projectId: string; deviceId: string; propertyName: string }>({
    ids: ['projectId', 'deviceId'],
  }),
  /** Written by `devices_RemoveProperty`, if the caller is not the device itself. */
  devices_PropertyRemoved: event<{ projectId: string; deviceId: string; propertyName: string }>({
    ids: ['projectId', 'deviceId'],
  }),
  /** Written by the hub when machines take the connection of a device over from each other, once until that has stopped for 10 minutes. */
  devices_IdentityShared: event<{
    projectId: string
    deviceId: string
    takeovers: number
    addresses: string[]
  }>({ ids: ['projectId', 'deviceId'] }),
  /** Written by `devices_IssueHttpProxyToken`, and once for each port and connection of a command-line client that forwards ports. */
  devices_PortForwarded: event<{
    projectId: string
    deviceId: string
    port: number
    hostname?: string
    validForSecs?: number
  }>({ ids: ['projectId', 'deviceId'] }),
}

/** Devices: lists, filters, properties, events and history. */
export const devices = defineFeature({
  actions,
  events,
  jobs,
  owners,
  routes: { 'GET /api/v1/export/:action.:format': exportList },
  retention: [removeOldConnections, removeOldProxyTokens, removeOldStoredBytes],
})
