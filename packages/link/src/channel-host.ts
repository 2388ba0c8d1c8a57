import type { LinkEnd } from './errors.ts'
import type { LinkLimits } from './limits.ts'
import type { Outgoing } from './outgoing.ts'
import type { PeerAge } from './peer-age.ts'
import type { ReceiveWindow } from './receive-window.ts'
import type { Wheel } from './wheel.ts'

/** The parts of a link that its channels use. */
export interface ChannelHost {
  readonly outgoing: Outgoing
  readonly wheel: Wheel
  readonly limits: LinkLimits
  readonly peerAge: PeerAge
  /**
   * True if the peer is known to deliver data that it has not read when ChannelClosed arrives. Public peers do so since March 2026, so
   * some legacy peers do.
   */
  readonly keepsUnreadData: boolean
  /** Option `isPeerNode` of the link: true if the peer is another node of the same hub. */
  readonly isPeerNode: boolean
  /** Current time of the link's clock in milliseconds. */
  now(): number
  /** Limit in milliseconds: if half a receive window is consumed within this time after credit was last granted, the window doubles. */
  growthHorizonMs(): number
  /** Sends a frame other than data. Ends the link when too many such frames are queued. */
  sendControl(frame: Uint8Array): void
  /** Ends the link if more data is queued than `maxQueuedBytes` allows. */
  checkData(): void
  /** Returns false while too much output is queued to start another action. The link then calls `resume` once enough output was sent. */
  mayAnswer(resume: () => void): boolean
  /** Called when queued data was sent or dropped. `isAnswer` is true if the data was the answer of an action. */
  dataLeft(isAnswer: boolean): void
  /**
   * True once the peer has read everything sent up to a position of `outgoing`. The proof is the peer's answer to a Ping, or to a probe of
   * the transport, that was sent after that position. If none was sent, requests one and calls `peerRead` of the channel's output when the
   * proof arrives.
   */
  hasPeerRead(position: number): boolean
  /** Runs a hook of the application. An error that it throws closes only this channel. */
  guard(channel: ChannelState, hook: () => void): void
  /** Removes a channel whose directions have both ended on this side. */
  channelDied(channel: HostedChannel): void
}

/** State that both directions of a channel share. */
export interface ChannelState {
  readonly host: ChannelHost
  readonly remoteId: number
  /** Set when the link ended before the channel did. */
  readonly linkEnd: LinkEnd | undefined
  /** Ends both directions immediately. */
  close(): void
  /** Removes the channel from the link once both directions have ended. */
  settle(): void
}

/** The parts of a channel that its link uses when it removes the channel. */
export interface HostedChannel {
  readonly localId: number
  /** True when this side opened the channel. */
  readonly isOwn: boolean
  readonly input: { readonly hasPeerEnded: boolean; readonly window: ReceiveWindow }
  readonly output: { readonly hasPeerStopped: boolean }
}
