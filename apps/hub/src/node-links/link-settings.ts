import { DEFAULT_LIMITS, type LinkEnd, type LinkLimits } from '@muster/link'
import type { Logger } from '../runtime/log.ts'

/** Largest WebSocket message in bytes: the longest frame of a link. */
export const MAX_MESSAGE_BYTES = DEFAULT_LIMITS.maxFrameBytes

/**
 * Limits of a link between two nodes. Unlike a device's link, it carries the channels of many people and devices. A channel holds at most
 * one piece of data of usually 16 KiB beyond the peer's credit, so 2,048 stalled channels stay below `maxQueuedBytes`.
 */
const LIMITS: Partial<LinkLimits> = {
  maxChannels: 2_048,
  maxPendingRequests: 1_024,
  maxOpenedChannels: 2_048,
  maxOpensInFlight: 512,
  opensPerSecond: 1_024,
  maxWaitingOpens: 2_048,
  requestsPerSecond: 2_048,
  controlFramesPerSecond: 65_536,
  unknownFramesPerSecond: 8_192,
  maxQueuedBytes: 64 * 1024 * 1024,
  maxQueuedFrames: 16_384,
  // A frozen node takes no data, so a Ping behind data may not leave this node.
  flushMs: 5_000,
}

/** Options of a link between two nodes. A dead or frozen node is found within 8 s: a Ping is due after 2 s, its answer 5 s later. */
export const NODE_LINK = {
  isPeerNode: true,
  limits: LIMITS,
  pingIntervalMs: 2_000,
  pongTimeoutMs: 5_000,
} as const

/** Logs the end of a link between nodes, as a warning unless one of the nodes has closed it. */
export function logNodeLinkEnd(log: Logger, about: object, { kind, reason }: LinkEnd, message: string): void {
  const isWanted = kind === 'LocalClose' || kind === 'PeerClose'
  log[isWanted ? 'info' : 'warn']({ ...about, end: kind, reason }, message)
}
