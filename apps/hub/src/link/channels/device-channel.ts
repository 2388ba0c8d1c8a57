import { ActionError, type AnyPermission } from '@muster/actions'
import { type Channel, ChannelRejectedError, type ChannelRequest, type Link } from '@muster/link'
import { type Authorization, authorize } from '../../platform/access/authorize.ts'
import { type AuditEvents, recordEvent } from '../../platform/audit/events.ts'
import type { EndedRights } from '../../platform/bus/ended-rights.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { pipeChannels } from '../../platform/net/channel-pipe.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import type { Measures } from '../../platform/runtime/measures.ts'
import type { ReachableDevice } from '../links/registry.ts'
import type { Reach } from '../node-links/reach.ts'

/** Kind of channel that people open to a device, such as a forwarded port. */
export type DeviceChannel<Of extends { deviceId: string }, E extends keyof AuditEvents> = {
  /** What an endpoint names. A text is the reason why the request is rejected. */
  of(endpoint: string): Of | string
  /** Permission that the person needs, at the start and while the channel is open. */
  permission: Exclude<AnyPermission, string>
  /** Opens the channel to the device. Rejects with `ChannelRejectedError` or `LinkEndedError`. */
  open(session: ReachableDevice, of: Of): Promise<Channel>
  /** Audit event that is written before any byte passes, once for each link and `key`. */
  event(of: Of, projectId: string): { key: string; name: E; data: AuditEvents[E] }
}

/** Person who opens a channel. */
export type ChannelPerson = {
  userId: string
  /** Resolves to the caller with the current rights. Rejects when the user token is no longer valid. */
  callerNow: () => Promise<Caller>
  /** IP address of the client. */
  address: string
}

type ChannelServices = { db: Db; reach: Reach; rights: EndedRights; measures: Measures | undefined }

/**
 * Pipes the channel of a person's client to a channel of a device, on any node, in both directions and with backpressure. The hub first opens
 * the channel to the device and then accepts the client's, so that a rejection by the device reaches the client with its reason. Both
 * channels are closed when the person may no longer use the device in this way.
 */
export async function openForPerson<Of extends { deviceId: string }, E extends keyof AuditEvents>(
  channel: DeviceChannel<Of, E>,
  request: ChannelRequest,
  link: Link,
  { userId, callerNow, address }: ChannelPerson,
  { db, reach, rights, measures }: ChannelServices,
): Promise<void> {
  const of = channel.of(request.endpoint)
  if (typeof of === 'string') return request.reject(of)
  const rightNow = async (): Promise<Right | undefined> => {
    try {
      const caller = await callerNow()
      return { caller, ...(await authorize(db, caller, channel.permission, of)) }
    } catch (error) {
      if (error instanceof ActionError) return undefined
      throw error
    }
  }
  const right = await rightNow()
  if (!right) return request.reject('forbidden')
  const session = await reach.find(of.deviceId)
  if (!session) return request.reject('device not connected')
  let device: Channel
  try {
    device = await channel.open(session, of)
  } catch (error) {
    const reason = error instanceof ChannelRejectedError ? error.reason : 'the device went away'
    return request.reject(`connection refused by device: ${reason}`)
  }
  const { key, name, data } = channel.event(of, right.scope.projectId!)
  try {
    await once(link, key, () =>
      db
        .transaction()
        .execute(tx =>
          recordEvent(tx, { caller: right.caller, scope: right.scope, origin: { address } }, name, data),
        ),
    )
  } catch (error) {
    device.close()
    throw error
  }
  if (!request.isPending) return device.close()
  const person = request.accept()
  const isAllowed = async (): Promise<boolean> => (await rightNow()) !== undefined
  const stop = rights.watchPerson(userId, isAllowed, () => {
    person.abort()
    device.abort()
  })
  await pipeChannels(person, device, measures?.forwards).finally(stop)
}

type Right = Authorization & { caller: Caller }

/** Keys of each link whose audit event is written or being written. */
const recorded = new WeakMap<Link, Map<string, Promise<void>>>()

/** Runs `record` once for each link and key. A record that fails is tried again with the next channel. */
async function once(link: Link, key: string, record: () => Promise<void>): Promise<void> {
  const known = recorded.get(link) ?? new Map<string, Promise<void>>()
  recorded.set(link, known)
  const recording = known.get(key) ?? record()
  known.set(key, recording)
  try {
    await recording
  } catch (error) {
    known.delete(key)
    throw error
  }
}
