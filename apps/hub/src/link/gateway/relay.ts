import { ActionError } from '@muster/actions'
import { type Channel, ChannelRejectedError, type ChannelRequest, type Link } from '@muster/link'
import { type Authorization, authorize } from '../../platform/access/authorize.ts'
import { recordEvent } from '../../platform/audit/events.ts'
import type { Origin } from '../../platform/audit/facts.ts'
import type { EndedRights } from '../../platform/bus/ended-rights.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { pipeChannels } from '../../platform/net/channel-pipe.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import type { Measures } from '../../platform/runtime/measures.ts'
import { openPort } from '../links/registry.ts'
import type { Reach } from '../node-links/reach.ts'

/** Endpoint that command-line clients open to reach a TCP port of a device (docs/protocol.md 3.4). */
const ENDPOINT = /^device\/(d_[1-9A-HJ-NP-Za-km-z]{22})\/proxy\/forward\/tcp\/(\d{1,5})$/

type RelayOptions = {
  db: Db
  reach: Reach
  rights: EndedRights
  /** Person who opened the channel. */
  userId: string
  /** Resolves to the caller with the current rights. Rejects when the user token is no longer valid. */
  callerNow: () => Promise<Caller>
  /** IP address of the command-line client. */
  address: string
  measures: Measures | undefined
}

/**
 * Pipes the channel of a command-line client to a TCP port of a device, in both directions and with backpressure. The hub first opens the
 * channel to the device and then accepts the client's, so that a rejection by the device reaches the client with its reason. Both channels
 * are closed when the person may no longer manage the device.
 */
export async function relay(
  request: ChannelRequest,
  link: Link,
  { db, reach, rights, userId, callerNow, address, measures }: RelayOptions,
): Promise<void> {
  const [, deviceId, port] = ENDPOINT.exec(request.endpoint) ?? []
  if (!deviceId) return request.reject('unknown endpoint')
  // The hub never sends an invalid port to a device, because agents released before 2026-03-03 exit when they get one (docs/protocol.md
  //
  if (Number(port) < 1 || Number(port) > 65_535) return request.reject('invalid TCP forwarding endpoint')
  const rightNow = async (): Promise<Right | undefined> => {
    const permission = { can: 'manage', on: 'device', id: 'deviceId' } as const
    try {
      const caller = await callerNow()
      return { caller, ...(await authorize(db, caller, permission, { deviceId })) }
    } catch (error) {
      if (error instanceof ActionError) return undefined
      throw error
    }
  }
  const right = await rightNow()
  if (!right) return request.reject('forbidden')
  const session = await reach.find(deviceId)
  if (!session) return request.reject('device not connected')
  let device: Channel
  try {
    device = await openPort(session, Number(port))
  } catch (error) {
    const reason = error instanceof ChannelRejectedError ? error.reason : 'the device went away'
    return request.reject(`connection refused by device: ${reason}`)
  }
  try {
    await recordOnce(db, link, { ...right, origin: { address } }, deviceId, Number(port))
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
type Cause = Right & { origin: Origin }

/** Device ports that were forwarded over each link, with the promise of their audit event. */
const forwarded = new WeakMap<Link, Map<string, Promise<void>>>()

/**
 * Writes the audit event of a forwarded port before any byte passes. Each port has one event per link of a command-line client,
 * however many connections the link forwards.
 */
async function recordOnce(
  db: Db,
  link: Link,
  { caller, scope, origin }: Cause,
  deviceId: string,
  port: number,
): Promise<void> {
  const known = forwarded.get(link) ?? new Map<string, Promise<void>>()
  forwarded.set(link, known)
  const key = `${deviceId} ${port}`
  const data = { projectId: scope.projectId!, deviceId, port }
  const recorded =
    known.get(key) ??
    db.transaction().execute(tx => recordEvent(tx, { caller, scope, origin }, 'devices_PortForwarded', data))
  known.set(key, recorded)
  try {
    await recorded
  } catch (error) {
    known.delete(key)
    throw error
  }
}
