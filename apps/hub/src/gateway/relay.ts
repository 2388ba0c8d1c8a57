import { ActionError } from '@muster/actions'
import { type Channel, ChannelRejectedError, type ChannelRequest, type Link } from '@muster/link'
import { type Authorization, authorize } from '../access/authorize.ts'
import { recordEvent } from '../audit/events.ts'
import type { Caller } from '../caller.ts'
import type { Db } from '../database/client/connection.ts'
import { type DeviceRegistry, openPort } from '../links/registry.ts'
import { breakOff, splice } from '../net/channel-pipe.ts'
import { endWithRight } from '../net/recheck.ts'

/** What command lines ask for (protocol 3.4): a port of a device. */
const ENDPOINT = /^device\/(d_[1-9A-HJ-NP-Za-km-z]{22})\/proxy\/forward\/tcp\/(\d{1,5})$/

type RelayOptions = {
  db: Db
  devices: DeviceRegistry
  /** Who asks, as of now; rejects when they may not ask any more. */
  callerNow: () => Promise<Caller>
}

/**
 * Passes a channel of a person on to a device: their bytes go both ways unchanged, and either side's pace is the other's. The
 * device answers first, so that its refusal is theirs. The connection ends with the right to it.
 */
export async function relay(
  request: ChannelRequest,
  link: Link,
  { db, devices, callerNow }: RelayOptions,
): Promise<void> {
  const [, deviceId, port] = ENDPOINT.exec(request.endpoint) ?? []
  if (!deviceId) return request.reject('unknown endpoint')
  // Old agents end their process over one.
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
  const session = devices.get(deviceId)
  if (!session) return request.reject('device not connected')
  let device: Channel
  try {
    device = await openPort(session, Number(port))
  } catch (error) {
    const reason = error instanceof ChannelRejectedError ? error.reason : 'the device went away'
    return request.reject(`connection refused by device: ${reason}`)
  }
  try {
    await recordOnce(db, link, right, deviceId, Number(port))
  } catch (error) {
    device.close()
    throw error
  }
  if (!request.isPending) return device.close()
  const person = request.accept()
  const isAllowed = async (): Promise<boolean> => (await rightNow()) !== undefined
  const stop = endWithRight(isAllowed, () => {
    breakOff(person)
    breakOff(device)
  })
  await splice(person, device).finally(stop)
}

type Right = Authorization & { caller: Caller }

/** Ports that were forwarded over a link before, with when that is written. */
const forwarded = new WeakMap<Link, Map<string, Promise<void>>>()

/**
 * Tells the audit log that somebody reached a port of a device: once for each port and connection of a command line, however many
 * connections it forwards, and before any byte passes.
 */
async function recordOnce(
  db: Db,
  link: Link,
  { caller, scope }: Right,
  deviceId: string,
  port: number,
): Promise<void> {
  const known = forwarded.get(link) ?? new Map<string, Promise<void>>()
  forwarded.set(link, known)
  const key = `${deviceId} ${port}`
  const data = { projectId: scope.projectId!, deviceId, port }
  const recorded =
    known.get(key) ??
    db.transaction().execute(tx => recordEvent(tx, { caller, scope }, 'devices_PortForwarded', data))
  known.set(key, recorded)
  try {
    await recorded
  } catch (error) {
    known.delete(key)
    throw error
  }
}
