import type { ChannelHost } from './channel-host.ts'
import { ChannelInput } from './channel-input.ts'
import { ChannelOutput } from './channel-output.ts'
import type { LinkEnd } from './errors.ts'

/** Both numbers of a channel (protocol 2.4), and who asked for it. */
export interface ChannelIds {
  readonly localId: number
  readonly remoteId: number
  /** True when this side did. */
  readonly isOwn: boolean
}

/** One end of a channel: its two directions, which end independently, and what they have in common. */
export class ChannelCore {
  readonly host: ChannelHost
  readonly endpoint: string
  readonly localId: number
  readonly remoteId: number
  readonly isOwn: boolean
  readonly input: ChannelInput
  readonly output: ChannelOutput
  onPeerStopped: (() => void) | undefined = undefined
  /** Set when the link ended before the channel did. */
  linkEnd: LinkEnd | undefined = undefined
  #isDead = false
  #closed: Promise<void> | undefined = undefined
  #resolveClosed: (() => void) | undefined = undefined

  constructor(host: ChannelHost, endpoint: string, ids: ChannelIds, frameCredit: number, byteCredit: number) {
    this.host = host
    this.endpoint = endpoint
    this.localId = ids.localId
    this.remoteId = ids.remoteId
    this.isOwn = ids.isOwn
    this.input = new ChannelInput(this)
    this.output = new ChannelOutput(this, frameCredit, byteCredit)
  }

  /** Resolves when both directions are over or the link ended; made when it is first asked for. */
  get closed(): Promise<void> {
    this.#closed ??=
      this.#isDead || this.linkEnd !== undefined
        ? Promise.resolve()
        : new Promise(resolve => {
            this.#resolveClosed = resolve
          })
    return this.#closed
  }

  /** Takes a ChannelClose: the peer reads no more. */
  receiveStop(): void {
    if (this.output.hasPeerStopped) return
    this.output.receiveStop()
    // An old peer that drops a channel sends nothing but this.
    if (this.host.isPeerLegacy) this.input.receiveEnd()
    if (this.onPeerStopped !== undefined) this.host.guard(this, this.onPeerStopped)
    this.settle()
  }

  /** Tells everybody who waits that the link is gone. */
  linkEnded(end: LinkEnd): void {
    this.linkEnd = end
    this.output.linkEnded()
    this.input.linkEnded()
    this.#resolveClosed?.()
  }

  /** Ends both directions at once. */
  close(): void {
    if (this.#isDead || this.linkEnd !== undefined) return
    this.output.abort()
    this.input.stop()
    this.settle()
  }

  /** Once both directions are over here, says so and leaves the link. */
  settle(): void {
    if (this.#isDead || this.linkEnd !== undefined || !this.output.hasSentEnd) return
    if (!this.input.hasSentStop && !this.input.hasReadEnd) return
    this.#isDead = true
    if (!this.input.hasSentStop) this.input.sendStop()
    this.host.channelDied(this)
    this.#resolveClosed?.()
  }
}
