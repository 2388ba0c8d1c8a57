import type { Channel } from './channel.ts'
import type { ChannelRejectedError } from './errors.ts'
import type { WheelEntry } from './wheel.ts'

const FIRST_RETRY_MS = 200
const MAX_RETRY_MS = 2000

/** How long to wait for a channel, and how to give up earlier. */
export interface OpenOptions {
  /** Gives up; open() rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Time for the peer's answer, the wait for a free place included; 30,000 by default. */
  readonly timeoutMs?: number | undefined
}

/** Whoever waits for a channel: the promise of one open(). */
export interface OpenWaiter {
  resolve(channel: Channel): void
  reject(error: unknown): void
}

/** What an opening reports to the list it is in. */
export interface OpeningOwner {
  /** The deadline or the time of the next attempt has come. */
  openingDue(opening: Opening): void
  /** The caller's signal was aborted. */
  openingAborted(opening: Opening, reason: unknown): void
}

/** One open() that has no channel yet: it waits for a place, for the peer's answer, or to try again. */
export class Opening implements WheelEntry {
  wheelTick = 0
  wheelNext: WheelEntry | undefined = undefined
  wheelPrevious: WheelEntry | undefined = undefined
  readonly endpoint: Uint8Array
  readonly endpointText: string
  readonly deadlineTick: number
  /** The peer's last refusal that allows another attempt. */
  lastRefusal: ChannelRejectedError | undefined = undefined
  /** True once the promise is settled; the peer's answer may still be due. */
  isSettled = false
  #retryMs = FIRST_RETRY_MS
  readonly #owner: OpeningOwner
  readonly #waiter: OpenWaiter
  readonly #signal: AbortSignal | undefined
  readonly #onAbort: (() => void) | undefined

  constructor(
    owner: OpeningOwner,
    endpoint: { readonly text: string; readonly bytes: Uint8Array },
    deadlineTick: number,
    signal: AbortSignal | undefined,
    waiter: OpenWaiter,
  ) {
    this.#owner = owner
    this.endpoint = endpoint.bytes
    this.endpointText = endpoint.text
    this.deadlineTick = deadlineTick
    this.#waiter = waiter
    this.#signal = signal
    if (signal !== undefined) {
      this.#onAbort = () => owner.openingAborted(this, signal.reason)
      signal.addEventListener('abort', this.#onAbort, { once: true })
    }
  }

  /** Milliseconds to the next attempt, longer each time. */
  takeRetryMs(): number {
    const delay = this.#retryMs
    this.#retryMs = Math.min(MAX_RETRY_MS, delay * 2)
    return delay
  }

  resolve(channel: Channel): void {
    this.#settle()
    this.#waiter.resolve(channel)
  }

  reject(error: unknown): void {
    if (this.isSettled) return
    this.#settle()
    this.#waiter.reject(error)
  }

  onDeadline(): void {
    this.#owner.openingDue(this)
  }

  #settle(): void {
    this.isSettled = true
    if (this.#onAbort !== undefined) this.#signal?.removeEventListener('abort', this.#onAbort)
  }
}
