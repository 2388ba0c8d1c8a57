import { decodeText, encodeBoundedText } from './bytes.ts'
import type { Channel } from './channel.ts'
import { encodeFrame, FRAME, type Frame } from './frames.ts'
import type { LinkLimits } from './limits.ts'
import type { LinkOptions } from './link-options.ts'
import { IncomingRequest, type RequestOwner } from './request.ts'
import type { Wheel } from './wheel.ts'

/** The parts of a link that `Requests` uses. */
export interface RequestsHost {
  readonly wheel: Wheel
  readonly limits: LinkLimits
  /** Number of channels open or requested, by both sides together. */
  readonly takenSlots: number
  sendControl(frame: Uint8Array): void
  /** Creates the channel of a pending request. For a request that was already decided the channel is closed. */
  acceptChannel(request: IncomingRequest): Channel
  /** Called when a channel slot became free. */
  slotFreed(): void
  /** Reports an error thrown by the application. */
  report(error: unknown): void
}

/** Channels requested by the peer (docs/protocol.md 2.4, 2.10): rejected immediately, or passed to the application. */
export class Requests implements RequestOwner {
  readonly #host: RequestsHost
  readonly #options: Pick<LinkOptions, 'onRequest'>
  // Created on first use, because links rarely have a pending request.
  #pending: Set<IncomingRequest> | undefined = undefined

  constructor(host: RequestsHost, options: Pick<LinkOptions, 'onRequest'>) {
    this.#host = host
    this.#options = options
  }

  /** Number of requests that wait for a decision. */
  get pending(): number {
    return this.#pending === undefined ? 0 : this.#pending.size
  }

  /** Handles a ChannelRequest. */
  receive(frame: Frame & { type: 'ChannelRequest' }): void {
    const { limits, takenSlots } = this.#host
    if (frame.endpoint.length > FRAME.maxControlPayloadBytes) {
      this.#sendReject(frame.senderId, 'channel endpoint too large')
      return
    }
    if (this.pending >= limits.maxPendingRequests || takenSlots >= limits.maxChannels) {
      this.#sendReject(frame.senderId, 'connection channel limit reached')
      return
    }
    const endpoint = decodeText(frame.endpoint)
    if (endpoint === undefined) this.#sendReject(frame.senderId, 'invalid endpoint')
    else if (this.#options.onRequest === undefined) this.#sendReject(frame.senderId, 'unknown endpoint')
    else this.#pass(new IncomingRequest(this, endpoint, frame))
  }

  /** Drops all pending requests after the link ended. */
  linkEnded(): void {
    for (const request of this.#pending ?? []) this.#forget(request)
  }

  accept(request: IncomingRequest): Channel {
    const channel = this.#host.acceptChannel(request)
    this.#forget(request)
    return channel
  }

  reject(request: IncomingRequest, reason: string): void {
    this.#forget(request)
    this.#sendReject(request.senderId, reason)
    this.#host.slotFreed()
  }

  #pass(request: IncomingRequest): void {
    this.#pending ??= new Set()
    this.#pending.add(request)
    this.#host.wheel.schedule(request, this.#host.limits.requestDecisionMs)
    try {
      this.#options.onRequest?.(request)
    } catch (error) {
      request.reject('internal error')
      this.#host.report(error)
    }
  }

  #forget(request: IncomingRequest): void {
    request.isPending = false
    this.#host.wheel.cancel(request)
    this.#pending?.delete(request)
    if (this.#pending?.size === 0) this.#pending = undefined
  }

  #sendReject(receiverId: number, text: string): void {
    const reason = encodeBoundedText(text, FRAME.maxControlPayloadBytes)
    this.#host.sendControl(encodeFrame({ type: 'ChannelReject', receiverId, reason }))
  }
}
