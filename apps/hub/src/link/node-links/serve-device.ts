import type { Channel, ChannelRequest } from '@muster/link'
import type { Logger } from '../../platform/runtime/log.ts'
import { requested } from '../channels/device-channel.ts'
import { type DeviceRegistry, type DeviceSession, isPort } from '../links/registry.ts'

const ENDPOINT =
  /^device\/(d_[1-9A-HJ-NP-Za-km-z]{22})\/(d_conn_[1-9A-HJ-NP-Za-km-z]{22})\/(p_[1-9A-HJ-NP-Za-km-z]{22})\/(watch|forward\/tcp\/(\d{1,5}))$/

/** Reason of a rejected channel if the device does not have the requested connection to this node. */
export const NOT_CONNECTED = 'device not connected'
/** Prefix of the reason if the device rejected the channel. The reason of the device follows. */
export const REJECTED_BY_DEVICE = 'device: '

/** Identifies a device's connection in a request to the node that has the connection. */
export type RemoteConnection = { deviceId: string; connectionId: string; projectId: string }

/** Endpoint of a channel to another node: `watch`, which ends with the device's connection, or `forward/tcp/<port>`. */
export function remoteEndpoint(connection: RemoteConnection, endpoint: string): string {
  const { deviceId, connectionId, projectId } = connection
  return `device/${deviceId}/${connectionId}/${projectId}/${endpoint}`
}

/**
 * Serves a channel request from another node for a device at this node. The other node takes the steps that concern the person: right,
 * limits and audit event. This node only checks that the device still has the requested connection and belongs to the requested project.
 */
export async function serveDevice(
  request: ChannelRequest,
  devices: DeviceRegistry,
  log: Logger,
): Promise<void> {
  const [, deviceId, connectionId, projectId, endpoint, port] = ENDPOINT.exec(request.endpoint) ?? []
  if (!deviceId || (port !== undefined && !isPort(Number(port)))) {
    log.warn({ endpoint: request.endpoint.slice(0, 200) }, 'channel of another node refused')
    return request.reject('unknown endpoint')
  }
  const session = devices.get(deviceId)
  if (session?.connectionId !== connectionId || session?.projectId !== projectId) {
    // A connection that has just ended is normal. A device in another project is a sign of a bug or an attack.
    const isForeign = session?.connectionId === connectionId
    log[isForeign ? 'warn' : 'debug'](
      { deviceId, connectionId, projectId },
      'channel of another node refused',
    )
    return request.reject(NOT_CONNECTED)
  }
  if (endpoint === 'watch') return watch(session!, request.accept())
  const rejection = (reason?: string): string =>
    reason === undefined ? NOT_CONNECTED : REJECTED_BY_DEVICE + reason
  const { open, pipe } = requested(request, endpoint!, rejection)
  // Never aborts: the other node ends the channel when the person's right has ended.
  const { signal } = new AbortController()
  const device = await open(session!, undefined, signal)
  if (device !== undefined) await pipe(device, signal)
}

/**
 * Channels from other nodes that must end with a device's connection. Each connection has one listener for all of its channels, because
 * listeners would pile up on a connection that lasts for months.
 */
const watching = new WeakMap<DeviceSession, Set<Channel>>()

function watch(session: DeviceSession, channel: Channel): void {
  let channels = watching.get(session)
  if (channels === undefined) {
    const all = new Set<Channel>()
    channels = all
    watching.set(session, all)
    void session.ended.then(() => {
      for (const one of all) one.abort()
    })
  }
  channels.add(channel)
  const leave = (): void => {
    channels.delete(channel)
    channel.close()
  }
  // The other node sends no data on this channel. The read ends when the other node closes the channel.
  channel.read().then(leave, leave)
}
