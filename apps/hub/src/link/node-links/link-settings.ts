import { DEFAULT_LIMITS, type LinkEnd, type LinkLimits } from '@muster/link'
import type { Logger } from '../../platform/runtime/log.ts'

/** Largest WebSocket message in bytes: the longest frame of a link. */
export const MAX_MESSAGE_BYTES = DEFAULT_LIMITS.maxFrameBytes

/**
 * Limits of a link between two nodes. Unlike a device's link, it carries the channels of many people and devices. When the other node
 * grants no credit, each channel queues at most one piece of data, usually 16 KiB. 2,048 such channels stay below `maxQueuedBytes`.
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
  // A node whose process hangs reads nothing, so a Ping that is queued behind data would never be sent. This timeout ends the link too.
  flushMs: 5_000,
}

/** Options of a link between two nodes. A dead or hung node is found within 8 s: a Ping is sent after 2 s, its Pong is due in 5 s. */
export const NODE_LINK = {
  isPeerNode: true,
  limits: LIMITS,
  pingIntervalMs: 2_000,
  pongTimeoutMs: 5_000,
} as const

/** Logs the end of a link between nodes: as information if one of the nodes closed it, else as a warning. */
export function logNodeLinkEnd(log: Logger, about: object, { kind, reason }: LinkEnd, message: string): void {
  const isWanted = kind === 'LocalClose' || kind === 'PeerClose'
  log[isWanted ? 'info' : 'warn']({ ...about, end: kind, reason }, message)
}
