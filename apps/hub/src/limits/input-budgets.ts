import { ByteBudget, type ExecutorOptions, errorEnvelope } from '@muster/link'
import { LimitReached } from './limit-reached.ts'
import type { LimitReports } from './limit-reports.ts'
import type { LimitSubject, LimitValues } from './limits.ts'

/** Memory in bytes that all links together may use for incomplete inputs larger than 64 KiB. */
const SHARED_BYTES = 256 * 1024 * 1024

type InputLimit = 'device-input-bytes' | 'organization-input-bytes' | 'person-input-bytes'

/**
 * Memory budgets for inputs that are still arriving over links: one budget for each device, organization and person, and one for
 * all of them together. Incomplete inputs of one device therefore leave memory for other devices. packages/link closes a channel
 * whose input is incomplete after 30 s.
 */
export class InputBudgets {
  readonly #limits: LimitValues
  readonly #reports: LimitReports
  readonly #shared = new ByteBudget(SHARED_BYTES)
  /** Bytes in use, by limit and id. An id without bytes in use has no entry. */
  readonly #used = new Map<string, number>()

  constructor(limits: LimitValues, reports: LimitReports) {
    this.#limits = limits
    this.#reports = reports
  }

  /** Options for the executor channels (which run actions) of a device or a person, with their memory budget. */
  optionsFor(subject: LimitSubject): ExecutorOptions {
    const { deviceId, organizationId, userId } = subject
    const keys = (
      [
        ['device-input-bytes', deviceId],
        ['organization-input-bytes', organizationId],
        ['person-input-bytes', userId],
      ] as const
    ).filter(([, id]) => id !== undefined)
    /** Limit that refused the last input; undefined if the shared memory was used up instead. */
    let reached: LimitReached | undefined
    const take = (bytes: number): boolean => {
      for (const [limit, id] of keys) {
        const found = (this.#used.get(`${limit} ${id}`) ?? 0) + bytes
        if (found <= this.#limits[limit]) continue
        reached = limitReached(limit, subject, this.#limits[limit], found)
        return false
      }
      if (!this.#shared.take(bytes)) {
        reached = undefined
        return false
      }
      for (const key of keys) this.#add(key.join(' '), bytes)
      return true
    }
    return {
      budget: {
        take,
        release: bytes => {
          this.#shared.release(bytes)
          for (const key of keys) this.#add(key.join(' '), -bytes)
        },
      },
      answerStarved: () => {
        if (!reached) return undefined
        this.#reports.add(reached.limit, subject, reached.message)
        return errorEnvelope(reached.kind, reached.message)
      },
    }
  }

  #add(key: string, bytes: number): void {
    const used = (this.#used.get(key) ?? 0) + bytes
    if (used === 0) this.#used.delete(key)
    else this.#used.set(key, used)
  }
}

function limitReached(limit: InputLimit, subject: LimitSubject, max: number, found: number): LimitReached {
  const remedy = 'Send large inputs one after the other.'
  return new LimitReached({ limit, subject, max, found, remedy, retryAfterSecs: 30 })
}
