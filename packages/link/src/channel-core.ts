import { encodeText } from './bytes.ts'
import type { ChannelHost } from './channel-host.ts'
import { ChannelInput } from './channel-input.ts'
import { ChannelOutput } from './channel-output.ts'
import type { LinkEnd } from './errors.ts'

/** Reason in the ChannelClosed frame of an aborted channel between nodes. */
const ABORTED = encodeText('aborted')

/** Ids of a channel on both sides (docs/protocol.md 2.4), and which side opened it. */
export interface ChannelIds {
  readonly localId: number
  readonly remoteId: number
  /** True when this side opened the channel. */
  readonly isOwn: boolean
}

/** Core of a channel on this side: its two directions, which end independently, and the state that they share. */
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

  /**
   * Resolves when both directions have ended or the link ended. Created on first use, since most channels never need it.
   */
  get closed(): Promise<void> {
    this.#closed ??=
      this.#isDead || this.linkEnd !== undefined
        ? Promise.resolve()
        : new Promise(resolve => {
            this.#resolveClosed = resolve
          })
    return this.#closed
  }

  /** Handles ChannelClose: the peer has stopped reading. */
  receiveStop(): void {
    if (this.output.hasPeerStopped) return
    this.output.receiveStop()
    // A legacy peer (older than 2026-07-27) that drops a channel sends only ChannelClose (docs/protocol.md R-13), so the peer's data has
    // ended too.
    const { peerAge } = this.host
    if (peerAge === 'Legacy') this.input.receiveEnd()
    else if (peerAge === 'Unknown') this.input.endAfterIdle()
    if (this.onPeerStopped !== undefined) this.host.guard(this, this.onPeerStopped)
    this.settle()
  }

  /** Settles every pending read and write of the channel after the link ended. */
  linkEnded(end: LinkEnd): void {
    this.linkEnd = end
    this.output.linkEnded()
    this.input.linkEnded()
    this.#resolveClosed?.()
  }

  /** Ends both directions immediately. */
  close(): void {
    if (this.#isDead || this.linkEnd !== undefined) return
    this.output.abort()
    this.input.stop()
    this.settle()
  }

  /** Handles ChannelClosed: the peer has ended its data, or another node has aborted the channel. */
  receiveEnd(reason: Uint8Array): void {
    if (this.host.isPeerNode && reason.length > 0) this.input.receiveAbort()
    else this.input.receiveEnd()
  }

  /** Ends both directions immediately after a failure. */
  abort(): void {
    if (this.#isDead || this.linkEnd !== undefined) return
    this.input.stop()
    this.output.abort(this.host.isPeerNode ? ABORTED : undefined)
    this.settle()
  }

  /** Once both directions have ended, sends the missing end frames (docs/protocol.md R-14) and removes the channel from the link. */
  settle(): void {
    if (this.#isDead || this.linkEnd !== undefined || !this.output.hasSentEnd) return
    if (!this.input.hasSentStop && !this.input.hasReadEnd) return
    this.#isDead = true
    if (!this.input.hasSentStop) this.input.sendStop()
    this.host.channelDied(this)
    this.#resolveClosed?.()
  }
}
