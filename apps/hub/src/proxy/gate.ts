import type { EventEmitter } from 'node:events'
import { Unreachable } from './pages.ts'

/** Requests under way to one port of one device, below what public agents forward at once (protocol 3.3). */
export const MAX_UNDER_WAY = 8
/** Requests that wait for their turn; further ones are told to come back. */
const MAX_WAITING = 128
/** How long one waits, in milliseconds. */
const WAIT_TIMEOUT_MS = 30_000

/**
 * Lets requests to one port of a device through, a few at a time and in the order in which they came. Node's agent has a queue of
 * its own, which knows neither deadlines nor who has left; it stays empty, since only who has a place here comes to it.
 */
export class Gate {
  readonly #waitTimeoutMs: number
  #underWay = 0
  #isClosed = false
  /** Those who wait, first come first; called with what happened when there will be no place for them. */
  readonly #waiting = new Set<(failure?: Error) => void>()

  constructor(waitTimeoutMs = WAIT_TIMEOUT_MS) {
    this.#waitTimeoutMs = waitTimeoutMs
  }

  /** Resolves with a place, to be given back by `leave`; rejects when the wait is too long or useless, or `over` closes. */
  async enter(over: EventEmitter): Promise<void> {
    if (this.#isClosed) throw new Unreachable('offline')
    if (this.#underWay < MAX_UNDER_WAY) this.#underWay++
    else if (this.#waiting.size < MAX_WAITING) await this.#turn(over)
    else throw new Unreachable('busy')
  }

  /** Gives a place back, to whoever waits longest. */
  leave(): void {
    const [next] = this.#waiting
    if (next) next()
    else this.#underWay--
  }

  /** Sends everybody away: the device is gone. */
  close(): void {
    this.#isClosed = true
    for (const settle of this.#waiting) settle(new Unreachable('offline'))
  }

  #turn(over: EventEmitter): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const settle = (failure?: Error): void => {
      this.#waiting.delete(settle)
      clearTimeout(timer)
      over.off('close', left)
      if (failure) reject(failure)
      else resolve()
    }
    const left = (): void => settle(new Error('the browser went away'))
    const timer = setTimeout(() => settle(new Unreachable('busy')), this.#waitTimeoutMs)
    over.once('close', left)
    this.#waiting.add(settle)
    return promise
  }
}
