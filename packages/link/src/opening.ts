import type { Channel } from './channel.ts'
import type { ChannelRejectedError } from './errors.ts'
import type { WheelEntry } from './wheel.ts'

const FIRST_RETRY_MS = 200
const MAX_RETRY_MS = 2000

/** Timeout and cancellation of open(). */
export interface OpenOptions {
  /** When aborted, open() rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for the peer's answer, including the wait for a free slot; 30,000 by default. */
  readonly timeoutMs?: number | undefined
}

/** Resolve and reject functions of the promise that one call of open() returned. */
export interface OpenWaiter {
  resolve(channel: Channel): void
  reject(error: unknown): void
}

/** Callbacks of an `Opening`, one pending call of open(). `Opens` implements them: it manages all pending calls of a link. */
export interface OpeningOwner {
  /** Called when the deadline or the time of the next attempt was reached. */
  openingDue(opening: Opening): void
  /** Called when the caller's signal was aborted. */
  openingAborted(opening: Opening, reason: unknown): void
}

/** A pending call of open(). It waits for a slot, for the peer's answer, or for its next attempt. */
export class Opening implements WheelEntry {
  wheelTick = 0
  wheelNext: WheelEntry | undefined = undefined
  wheelPrevious: WheelEntry | undefined = undefined
  readonly endpoint: Uint8Array
  readonly endpointText: string
  readonly deadlineTick: number
  /** The peer's last rejection that allows another attempt. */
  lastRefusal: ChannelRejectedError | undefined = undefined
  /** True once the promise of open() is settled. The peer may still answer. */
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

  /** Returns the milliseconds until the next attempt. The delay doubles with each call, up to `MAX_RETRY_MS`. */
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
