import type { ChannelCore } from './channel-core.ts'
import type { LinkLimits } from './limits.ts'
import type { Outgoing } from './outgoing.ts'
import type { Wheel } from './wheel.ts'

/** What a channel needs of its link. */
export interface ChannelHost {
  readonly outgoing: Outgoing
  readonly wheel: Wheel
  readonly limits: LinkLimits
  readonly isPeerLegacy: boolean
  /** Milliseconds, of the clock. */
  now(): number
  /** Time between two grants below which a receive window doubles. */
  growthHorizonMs(): number
  /** Sends a frame other than data, or ends the link when too many wait. */
  sendControl(frame: Uint8Array): void
  /** Ends the link if more data waits than the limits allow. */
  checkData(): void
  /** False while too much waits to begin another action; `resume` is then called once there is room. */
  mayAnswer(resume: () => void): boolean
  /** Notes that less data waits than before; `isAnswer` when it was an action's. */
  dataLeft(isAnswer: boolean): void
  /** Runs code of the application, which must not be able to break the link. */
  guard(channel: ChannelCore, hook: () => void): void
  /** Forgets a channel that is dead on this side. */
  channelDied(channel: ChannelCore): void
}
