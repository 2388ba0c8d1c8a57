import type { ChannelCore } from './channel-core.ts'
import type { LinkLimits } from './limits.ts'
import type { PeerAge } from './link.ts'
import type { Outgoing } from './outgoing.ts'
import type { Wheel } from './wheel.ts'

/** The parts of a link that its channels use. */
export interface ChannelHost {
  readonly outgoing: Outgoing
  readonly wheel: Wheel
  readonly limits: LinkLimits
  readonly peerAge: PeerAge
  /** Milliseconds of the link's clock. */
  now(): number
  /** If half a receive window is consumed within this many milliseconds since its last grant, the window doubles. */
  growthHorizonMs(): number
  /** Sends a frame other than data. Ends the link when too many such frames are queued. */
  sendControl(frame: Uint8Array): void
  /** Ends the link if more data is queued than `maxQueuedBytes` allows. */
  checkData(): void
  /** False while too much output is queued to begin another action; `resume` is called once there is room. */
  mayAnswer(resume: () => void): boolean
  /** Reports that queued data has left or was dropped; `isAnswer` when it was an action's answer. */
  dataLeft(isAnswer: boolean): void
  /**
   * True once the peer has read everything sent up to a position of `outgoing`: it answered a Ping that was sent after
   * that position. Otherwise requests such a Ping.
   */
  hasPeerTaken(position: number): boolean
  /** Runs a hook of the application. Whatever it throws closes only this channel. */
  guard(channel: ChannelCore, hook: () => void): void
  /** Removes a channel whose directions are both over on this side. */
  channelDied(channel: ChannelCore): void
}
