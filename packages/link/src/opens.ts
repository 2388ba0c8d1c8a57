import { encodeText } from './bytes.ts'
import type { Channel } from './channel.ts'
import { ChannelRejectedError, type LinkEnd, LinkEndedError } from './errors.ts'
import { encodeFrame, FRAME } from './frames.ts'
import type { LinkLimits } from './limits.ts'
import { Opening, type OpeningOwner, type OpenOptions } from './opening.ts'
import { TokenBucket } from './token-bucket.ts'
import { TICK_MS, type Wheel, type WheelEntry } from './wheel.ts'

const DEFAULT_TIMEOUT_MS = 30_000

/** Contents of the peer's ChannelAccept. */
export interface AcceptedChannel {
  readonly senderId: number
  readonly frameCredit: number
  readonly byteCredit: number
}

/** The parts of a link that `Opens` uses. */
export interface OpensHost {
  readonly wheel: Wheel
  readonly limits: LinkLimits
  /** Number of channels open or requested, by both sides together. */
  readonly takenSlots: number
  /** Number of open channels that this side requested. */
  readonly ownChannels: number
  takeId(): number
  sendControl(frame: Uint8Array): void
  /** Creates the channel that the peer accepted. */
  adoptChannel(endpoint: string, localId: number, accepted: AcceptedChannel): Channel
}

/**
 * Channels requested by this side. The limits of requests in flight, open channels and requests per second are the limits that
 * devices accept (docs/protocol.md R-17). Further calls of open() wait, and so do calls that the peer rejected because of too many
 * channels.
 */
export class Opens implements OpeningOwner, WheelEntry {
  wheelTick = 0
  wheelNext: WheelEntry | undefined = undefined
  wheelPrevious: WheelEntry | undefined = undefined
  readonly #host: OpensHost
  readonly #bucket: TokenBucket
  readonly #waiting: Opening[] = []
  readonly #resting = new Set<Opening>()
  readonly #inFlight = new Map<number, Opening>()

  constructor(host: OpensHost) {
    this.#host = host
    this.#bucket = new TokenBucket(host.limits.opensPerSecond, host.wheel.tick)
  }

  /** Number of requests that the peer has not answered. */
  get inFlight(): number {
    return this.#inFlight.size
  }

  open(endpoint: string, options: OpenOptions | undefined): Promise<Channel> {
    const signal = options?.signal
    if (signal?.aborted) return Promise.reject(signal.reason)
    const bytes = encodeText(endpoint)
    if (bytes.length > FRAME.maxControlPayloadBytes) {
      return Promise.reject(new ChannelRejectedError('channel endpoint too large'))
    }
    if (this.#waiting.length + this.#resting.size >= this.#host.limits.maxWaitingOpens) {
      return Promise.reject(new ChannelRejectedError('too many channels are waiting'))
    }
    return new Promise((resolve, reject) => {
      const wheel = this.#host.wheel
      const ticks = Math.max(1, Math.ceil((options?.timeoutMs ?? DEFAULT_TIMEOUT_MS) / TICK_MS))
      const opening = new Opening(this, { text: endpoint, bytes }, wheel.tick + ticks, signal, {
        resolve,
        reject,
      })
      wheel.scheduleTicks(opening, ticks)
      this.#waiting.push(opening)
      this.pump()
    })
  }

  /** Handles a ChannelAccept. Returns false when no request with this id is outstanding, which ends the link. */
  accepted(localId: number, accepted: AcceptedChannel): boolean {
    const opening = this.#answered(localId)
    if (opening === undefined) return false
    const channel = this.#host.adoptChannel(opening.endpointText, localId, accepted)
    if (opening.isSettled) {
      // The caller's promise was rejected while the request was in flight, so the channel has no user.
      channel.close()
      this.pump()
    } else {
      opening.resolve(channel)
    }
    return true
  }

  /** Handles a ChannelReject. Returns false when no request with this id is outstanding, which ends the link. */
  rejected(localId: number, reason: string): boolean {
    const opening = this.#answered(localId)
    if (opening === undefined) return false
    const error = new ChannelRejectedError(reason)
    if (error.shouldRetry() && !opening.isSettled) {
      const wheel = this.#host.wheel
      opening.lastRefusal = error
      this.#resting.add(opening)
      const retryTicks = Math.ceil(opening.takeRetryMs() / TICK_MS)
      wheel.scheduleTicks(opening, Math.min(retryTicks, opening.deadlineTick - wheel.tick))
    } else {
      opening.reject(error)
    }
    this.pump()
    return true
  }

  /** Sends waiting requests as far as the limits allow. */
  pump(): void {
    const host = this.#host
    const { limits } = host
    while (
      this.#waiting.length > 0 &&
      this.#inFlight.size < limits.maxOpensInFlight &&
      this.#inFlight.size + host.ownChannels < limits.maxOpenedChannels &&
      host.takenSlots < limits.maxChannels
    ) {
      if (!this.#bucket.take(host.wheel.tick)) {
        host.wheel.scheduleTicks(this, 1)
        return
      }
      const opening = this.#waiting.shift()!
      const localId = host.takeId()
      this.#inFlight.set(localId, opening)
      host.sendControl(
        encodeFrame({
          type: 'ChannelRequest',
          senderId: localId,
          frameCredit: FRAME.initialFrameCredit,
          byteCredit: FRAME.initialByteCredit,
          endpoint: opening.endpoint,
        }),
      )
    }
  }

  /** Rejects every pending call of open() after the link ended. */
  linkEnded(end: LinkEnd): void {
    this.#host.wheel.cancel(this)
    for (const opening of [...this.#waiting, ...this.#resting, ...this.#inFlight.values()]) {
      this.#host.wheel.cancel(opening)
      opening.reject(new LinkEndedError(end))
    }
    this.#waiting.length = 0
    this.#resting.clear()
    this.#inFlight.clear()
  }

  onDeadline(): void {
    this.pump()
  }

  openingDue(opening: Opening): void {
    if (this.#host.wheel.tick >= opening.deadlineTick) {
      // A request that still waits was never sent, so its reason must not suggest that the peer did not answer.
      const reason = this.#waiting.includes(opening) ? 'too many channels are waiting' : 'timed out'
      this.#giveUp(opening, opening.lastRefusal ?? new ChannelRejectedError(reason))
      return
    }
    this.#resting.delete(opening)
    this.#waiting.push(opening)
    this.#host.wheel.scheduleTicks(opening, opening.deadlineTick - this.#host.wheel.tick)
    this.pump()
  }

  openingAborted(opening: Opening, reason: unknown): void {
    this.#host.wheel.cancel(opening)
    this.#giveUp(opening, reason)
  }

  // A request in flight keeps its slot until the peer has answered.
  #giveUp(opening: Opening, error: unknown): void {
    this.#resting.delete(opening)
    const index = this.#waiting.indexOf(opening)
    if (index >= 0) this.#waiting.splice(index, 1)
    opening.reject(error)
  }

  #answered(localId: number): Opening | undefined {
    const opening = this.#inFlight.get(localId)
    if (opening === undefined) return undefined
    this.#inFlight.delete(localId)
    this.#host.wheel.cancel(opening)
    return opening
  }
}
