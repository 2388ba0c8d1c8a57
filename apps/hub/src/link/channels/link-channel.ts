import { ActionError, type AuditEvents } from '@muster/actions'
import type { Channel, ChannelRequest, Link } from '@muster/link'
import { authorize } from '../../platform/access/authorize.ts'
import type { Right } from '../../platform/access/rights.ts'
import type { Scope } from '../../platform/access/scope.ts'
import type { DatabaseShares } from '../../platform/limits/database-shares.ts'
import { credentialId, type PersonCaller } from '../../platform/pipeline/caller.ts'
import {
  type CommandParts,
  commandTransaction,
  withinShare,
} from '../../platform/pipeline/command-transaction.ts'
import type { Measures } from '../../platform/runtime/measures.ts'
import { type ChannelServices, openForPerson, type PersonRight, requested } from './device-channel.ts'

/** Kind of channel that people open to a device over their link, such as a forwarded port. */
export type LinkChannel<Of extends { deviceId: string }, E extends keyof AuditEvents> = {
  /** Reads what an endpoint of the client names. A text is the reason why the request is rejected. */
  of(endpoint: string): Of | string
  /** Endpoint of the channel at the device. */
  endpoint(of: Of): string
  /** Right on the device that the person needs, at the start and while the channel is open. */
  right: Right
  /** Audit event that is written before any byte passes, once for each link and `key`. */
  event(of: Of, projectId: string): { key: string; name: E; data: AuditEvents[E] }
}

/** Person who opens a channel. */
export type ChannelPerson = {
  /** Resolves to the caller with the current rights. Rejects when the user token is no longer valid. */
  callerNow: () => Promise<PersonCaller>
  /** IP address of the client. */
  address: string
}

type LinkRight = PersonRight & { caller: PersonCaller; scope: Scope }
type Services = ChannelServices & {
  parts: CommandParts
  databaseShares: DatabaseShares
  measures: Measures | undefined
}

/** Opens a channel to a device, on any node, for the link of a person. */
export async function openOverLink<Of extends { deviceId: string }, E extends keyof AuditEvents>(
  kind: LinkChannel<Of, E>,
  request: ChannelRequest,
  link: Link,
  { callerNow, address }: ChannelPerson,
  { parts, databaseShares, measures, ...services }: Services,
): Promise<void> {
  const of = kind.of(request.endpoint)
  if (typeof of === 'string') return request.reject(of)
  const { deviceId } = of
  const permission = { can: kind.right, on: 'device', id: 'deviceId' } as const
  const rejection = (reason = 'the device went away'): string => `connection refused by device: ${reason}`
  const outcome = await openForPerson<LinkRight, Channel>(services, {
    ...requested(request, kind.endpoint(of), rejection, measures?.forwards),
    async right() {
      try {
        const caller = await callerNow()
        const { scope } = await authorize(parts.db, caller, permission, of)
        const key = `${credentialId(caller)} ${kind.right} ${deviceId}`
        return { deviceId, userId: caller.userId, key, caller, scope }
      } catch (error) {
        if (error instanceof ActionError) return undefined
        throw error
      }
    },
    limits: 'OfLink',
    async audit({ caller, scope }, device) {
      const { key, name, data } = kind.event(of, scope.projectId!)
      const record = (): Promise<void> =>
        commandTransaction(
          ({ events }) => events.emit(name, data),
          { caller, scope, origin: { address } },
          withinShare(parts, databaseShares.of(caller, address, name)),
        )
      await once(link, `${name} ${key}`, record).catch(error => {
        device.close()
        throw error
      })
    },
  })
  if (outcome !== undefined) request.reject(outcome === 'Forbidden' ? 'forbidden' : 'device not connected')
}

/** Maximum number of keys that are kept for a link. A forgotten key costs one more audit event. */
const MAX_KEYS = 1_000

/** Latest keys of each link whose audit event is written or being written. */
const recorded = new WeakMap<Link, Map<string, Promise<void>>>()

/** Runs `record` once for each link and key, of the latest `MAX_KEYS` keys. A record that fails is tried again with the next channel. */
async function once(link: Link, key: string, record: () => Promise<void>): Promise<void> {
  const known = recorded.get(link) ?? new Map<string, Promise<void>>()
  recorded.set(link, known)
  const recording = known.get(key) ?? record()
  // A key in use becomes the latest one.
  known.delete(key)
  known.set(key, recording)
  if (known.size > MAX_KEYS) known.delete(known.keys().next().value!)
  try {
    await recording
  } catch (error) {
    known.delete(key)
    throw error
  }
}
