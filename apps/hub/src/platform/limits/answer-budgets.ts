import type { ServerResponse } from 'node:http'
import { ActionError, type LimitSubject } from '@muster/actions'
import { type Caller, personOf } from '../pipeline/caller.ts'
import { countedAs } from './counted-address.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitReports } from './limit-reports.ts'
import type { LimitValues } from './limits.ts'
import { writeSubject } from './write-budgets.ts'

/** Memory in bytes for all large answers that clients have not read. */
const SHARED_BYTES = 256 * 1024 * 1024
/** Size in bytes up to which an answer does not count: it fits into the buffers of a socket. */
const SMALL_BYTES = 64 * 1024
/** Time after which a refused caller should try again, in seconds. */
const RETRY_AFTER_SECS = 30
/** Interval at which callers who have read everything are removed, in milliseconds. */
const SWEEP_MS = 60_000

/** A response or link with answers in the memory of this process that its client has not read. */
type Unread = { readonly unreadBytes: number }

type AnswerLimit =
  | 'device-answer-bytes'
  | 'organization-answer-bytes'
  | 'person-answer-bytes'
  | 'address-answer-bytes'

/**
 * Memory budgets for answers that are written and not read yet: of each device, organization of devices, person and address without
 * credentials, and of all together. A client that reads slowly or not at all makes the hub keep its answers. A caller who has read everything always gets an answer, whatever its size.
 */
export class AnswerBudgets {
  readonly #limits: LimitValues
  readonly #reports: LimitReports
  /** Responses and links with unread answers, by the name of a limit and the id of a device, organization, person or address. */
  readonly #unread = new Map<string, Set<Unread>>()
  #sweptAtMs = performance.now()

  constructor(limits: LimitValues, reports: LimitReports) {
    this.#limits = limits
    this.#reports = reports
  }

  /**
   * Counts an answer until its client has read it, as `unread` says: that is without the answer at this moment, and has it from the next
   * turn of the event loop on. Throws `LimitReached`, or `RateLimited` if the memory for the answers of all is used up.
   */
  add(caller: Caller, address: string | undefined, bytes: number, unread: Unread): void {
    const subject = subjectOf(caller, address)
    if (bytes <= SMALL_BYTES || subject === undefined) return
    if (performance.now() - this.#sweptAtMs > SWEEP_MS) this.#sweep()
    const keys = keysOf(subject)
    for (const [limit, id] of keys) {
      const held = this.#heldBy(`${limit} ${id}`)
      const max = this.#limits[limit]
      if (held > 0 && held + bytes > max) throw this.#reached(limit, subject, max, held + bytes)
    }
    const held = this.#heldBy('all')
    if (held > 0 && held + bytes > SHARED_BYTES)
      throw new ActionError('RateLimited', 'The memory for large answers is in use: try again later.', {
        retryAfterSecs: RETRY_AFTER_SECS,
      })
    for (const key of ['all', ...keys.map(one => one.join(' '))])
      this.#unread.set(key, (this.#unread.get(key) ?? new Set()).add(unread))
  }

  /**
   * Counts the answer of a response until the response closes. The returned object has the number of its bytes in memory, which may be
   * lowered, such as by compression. Throws as `add`.
   */
  addResponse(
    caller: Caller,
    address: string | undefined,
    bytes: number,
    response: ServerResponse,
  ): { unreadBytes: number } {
    const unread = { unreadBytes: 0 }
    this.add(caller, address, bytes, unread)
    if (bytes <= SMALL_BYTES || response.closed) return unread
    unread.unreadBytes = bytes
    response.once('close', () => {
      unread.unreadBytes = 0
    })
    return unread
  }

  #heldBy(key: string): number {
    let bytes = 0
    const all = this.#unread.get(key)
    for (const one of all ?? []) {
      const { unreadBytes } = one
      bytes += unreadBytes
      if (unreadBytes === 0) all!.delete(one)
    }
    if (all?.size === 0) this.#unread.delete(key)
    return bytes
  }

  #sweep(): void {
    this.#sweptAtMs = performance.now()
    for (const key of this.#unread.keys()) this.#heldBy(key)
  }

  #reached(limit: AnswerLimit, subject: LimitSubject, max: number, found: number): LimitReached {
    const remedy = 'Read the answers to other calls first.'
    const reached = new LimitReached({
      limit,
      subject,
      max,
      found,
      remedy,
      retryAfterSecs: RETRY_AFTER_SECS,
    })
    this.#reports.add(limit, subject, reached.message)
    return reached
  }
}

/** Caller as the subject of limits; undefined for the hub itself. */
function subjectOf(caller: Caller, address: string | undefined): LimitSubject | undefined {
  const person = personOf(caller)
  if (person) return { userId: person.userId }
  if (caller.actor === 'Device') return writeSubject(caller)
  if (caller.actor !== 'Anonymous' || address === undefined) return undefined
  return { address: countedAs(address) }
}

/** Limits that apply to a subject, each with the id that it is counted for. */
function keysOf({
  deviceId,
  organizationId,
  userId,
  address,
}: LimitSubject): [limit: AnswerLimit, id: string][] {
  const keys: [AnswerLimit, string | undefined][] = [
    ['device-answer-bytes', deviceId],
    ['organization-answer-bytes', organizationId],
    ['person-answer-bytes', userId],
    ['address-answer-bytes', address],
  ]
  return keys.filter((key): key is [AnswerLimit, string] => key[1] !== undefined)
}
