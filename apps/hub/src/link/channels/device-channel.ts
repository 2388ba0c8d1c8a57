import { type Channel, ChannelRejectedError, type ChannelRequest } from '@muster/link'
import type { Right } from '../../platform/access/rights.ts'
import type { EndedRights } from '../../platform/bus/ended-rights.ts'
import { pipeChannels } from '../../platform/net/channel-pipe.ts'
import type { ForwardCounts } from '../../platform/runtime/measures.ts'
import { openEndpoint, type ReachableDevice } from '../links/registry.ts'

/** Right on a device that people need to reach its ports and web pages, the same as for `devices_IssueHttpProxyToken`. */
export const CONNECT: Right = 'manage'

/** Right of a person to a device. Open channels with the same `key` share the look-ups of their right. */
export type PersonRight = { deviceId: string; userId: string; key: string }

/** Steps of a channel to a device, in their order. A text in place of a step names what does it instead. */
export type DeviceChannel<Right, Opened> = {
  /** Looks up the right that the client has at this moment; undefined without one. Repeated while the channel is open. */
  right(): Promise<Right | undefined>
  /** Takes what the client may have open at once. Throws `LimitReached`. */
  limits: ((right: Right) => void) | 'OfLink'
  /** Opens the channel. Undefined if the device has rejected it and the client knows. `signal` aborts when the right has ended. */
  open(device: ReachableDevice, right: Right, signal: AbortSignal): Promise<Opened | undefined>
  /** Writes the audit event, before the client receives any byte. */
  audit: ((right: Right, opened: Opened) => Promise<void>) | 'WithToken'
  /** Pipes until both sides have ended. */
  pipe(opened: Opened, signal: AbortSignal): Promise<void>
}

/** Parts of the hub that open channels for people. */
export type ChannelServices = {
  reach: { find(deviceId: string): Promise<ReachableDevice | undefined> }
  rights: EndedRights
}

/**
 * Opens a channel for a person to a device on any node, and pipes until it has ended. Resolves to the reason if the person has no right or the
 * device is not connected.
 */
export async function openForPerson<Right extends PersonRight, Opened>(
  { reach, rights }: ChannelServices,
  channel: DeviceChannel<Right, Opened>,
): Promise<'Forbidden' | 'NotConnected' | undefined> {
  const { limits, audit } = channel
  const since = rights.reportCount
  const right = await channel.right()
  if (right === undefined) return 'Forbidden'
  const ended = new AbortController()
  const isAllowed = async (): Promise<boolean> => (await channel.right()) !== undefined
  const end = (): void => ended.abort()
  const stop = rights.watchPerson(right.userId, isAllowed, end, { key: right.key, since })
  try {
    const device = await reach.find(right.deviceId)
    if (device === undefined) return 'NotConnected'
    if (ended.signal.aborted) return 'Forbidden'
    if (limits !== 'OfLink') limits(right)
    const opened = await channel.open(device, right, ended.signal)
    if (opened === undefined) return undefined
    if (audit !== 'WithToken') await audit(right, opened)
    await channel.pipe(opened, ended.signal)
  } finally {
    stop()
  }
  return undefined
}

/**
 * Steps of a channel that a client requests over its link. The device accepts first, so that its rejection reaches the client. `rejection`
 * gets the device's reason, or undefined if its connection has ended.
 */
export function requested(
  request: ChannelRequest,
  endpoint: string,
  rejection: (reason: string | undefined) => string,
  counts?: ForwardCounts,
): Pick<DeviceChannel<unknown, Channel>, 'open' | 'pipe'> {
  return {
    async open(device, _right, signal) {
      signal.addEventListener('abort', () => request.reject('forbidden'))
      try {
        return await openEndpoint(device, endpoint)
      } catch (error) {
        request.reject(rejection(error instanceof ChannelRejectedError ? error.reason : undefined))
        return undefined
      }
    },
    async pipe(device, signal) {
      if (!request.isPending) return device.close()
      const client = request.accept()
      signal.addEventListener('abort', () => {
        client.abort()
        device.abort()
      })
      await pipeChannels(client, device, counts)
    },
  }
}
