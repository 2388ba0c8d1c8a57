import { ActionError, type LimitSubject } from '@muster/actions'
import { ByteBudget, type ExecutorOptions, errorEnvelope, type InputBudget } from '@muster/link'
import { LimitReached } from './limit-reached.ts'
import type { LimitReports } from './limit-reports.ts'
import type { LimitValues } from './limits.ts'
import { writeSubject } from './write-budgets.ts'

/** Memory in bytes that all links and requests together may use for incomplete inputs larger than 64 KiB. */
const SHARED_BYTES = 256 * 1024 * 1024

/** Time after which a refused caller should try again, in seconds. */
const RETRY_AFTER_SECS = 30

type InputLimit = 'device-input-bytes' | 'organization-input-bytes' | 'person-input-bytes'

/**
 * Memory budgets for inputs of actions that have not arrived completely over their link or request: one budget for each device,
 * organization and person, and one for all together. So incomplete inputs of one device leave memory for other devices. packages/link closes
 * a channel whose input is still incomplete after 30 s.
 */
export class InputBudgets {
  readonly #limits: LimitValues
  readonly #reports: LimitReports
  readonly #shared = new ByteBudget(SHARED_BYTES)
  /** Reserved bytes by the name of a limit and the id of a device, organization or person. There are no entries of 0 bytes. */
  readonly #used = new Map<string, number>()

  constructor(limits: LimitValues, reports: LimitReports) {
    this.#limits = limits
    this.#reports = reports
  }

  /** Options for the executor channels (which run actions) of a device or a person, with their memory budget. */
  optionsFor(subject: LimitSubject): ExecutorOptions {
    return new SubjectBudget(this, subject)
  }

  /**
   * Reserves bytes for a subject. Returns the limit that is reached, or `'shared'` if the memory of all links is used up; undefined if the
   * bytes are reserved.
   */
  take(subject: LimitSubject, bytes: number): LimitReached | 'shared' | undefined {
    const keys = keysOf(subject)
    for (const [limit, id] of keys) {
      const found = (this.#used.get(`${limit} ${id}`) ?? 0) + bytes
      if (found > this.#limits[limit]) return limitReached(limit, subject, this.#limits[limit], found)
    }
    if (!this.#shared.take(bytes)) return 'shared'
    for (const key of keys) this.#add(key.join(' '), bytes)
    return undefined
  }

  /** Frees bytes that `take` reserved. */
  release(subject: LimitSubject, bytes: number): void {
    this.#shared.release(bytes)
    for (const key of keysOf(subject)) this.#add(key.join(' '), -bytes)
  }

  /** As `take`. Reports the limit that is reached and throws it, or `RateLimited` if the memory of all is used up. */
  require(subject: LimitSubject, bytes: number): void {
    const refused = this.take(subject, bytes)
    if (refused === undefined) return
    if (refused === 'shared')
      throw new ActionError('RateLimited', 'The memory for large inputs is in use: try again later.', {
        retryAfterSecs: RETRY_AFTER_SECS,
      })
    this.report(refused, subject)
    throw refused
  }

  /** Reports a reached limit of a subject. */
  report({ limit, message }: LimitReached, subject: LimitSubject): void {
    this.#reports.add(limit, idsOf(subject), message)
  }

  #add(key: string, bytes: number): void {
    const used = (this.#used.get(key) ?? 0) + bytes
    if (used === 0) this.#used.delete(key)
    else this.#used.set(key, used)
  }
}

/**
 * Budget of one device or person, and the options of their executor channels. Every connected device has such an object, so it saves
 * memory: it contains no closures and no lists.
 */
class SubjectBudget implements ExecutorOptions, InputBudget {
  readonly #budgets: InputBudgets
  readonly #subject: LimitSubject
  /** Limit that refused the last input; undefined if the shared memory was used up instead. */
  #reached: LimitReached | undefined

  constructor(budgets: InputBudgets, subject: LimitSubject) {
    this.#budgets = budgets
    this.#subject = subject
  }

  get budget(): InputBudget {
    return this
  }

  take(bytes: number): boolean {
    const refused = this.#budgets.take(this.#subject, bytes)
    if (refused === undefined) return true
    this.#reached = refused === 'shared' ? undefined : refused
    return false
  }

  release(bytes: number): void {
    this.#budgets.release(this.#subject, bytes)
  }

  answerStarved(): string | undefined {
    if (!this.#reached) return undefined
    this.#budgets.report(this.#reached, this.#subject)
    return errorEnvelope(this.#reached.kind, this.#reached.message)
  }
}

/** Limits that apply to a subject, each with the id that it is counted for. */
function keysOf({ deviceId, organizationId, userId }: LimitSubject): [limit: InputLimit, id: string][] {
  const keys: [InputLimit, string | undefined][] = [
    ['device-input-bytes', deviceId],
    ['organization-input-bytes', organizationId],
    ['person-input-bytes', userId],
  ]
  return keys.filter((key): key is [InputLimit, string] => key[1] !== undefined)
}

/** Ids to report. The subject of a device is its `Caller` object, whose other fields are left out. */
function idsOf(subject: LimitSubject): LimitSubject {
  return subject.userId === undefined ? writeSubject(subject) : { userId: subject.userId }
}

function limitReached(limit: InputLimit, subject: LimitSubject, max: number, found: number): LimitReached {
  const remedy = 'Send large inputs one after the other.'
  return new LimitReached({
    limit,
    subject: idsOf(subject),
    max,
    found,
    remedy,
    retryAfterSecs: RETRY_AFTER_SECS,
  })
}
