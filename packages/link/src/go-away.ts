/**
 * Reasons of a Close frame with which a hub asks a device to reconnect soon, to this or another node (docs/protocol.md 1.6). Agents that
 * know the reasons do not count the end as a failure.
 */
export const GO_AWAY = {
  shutdown: 'the hub is shutting down',
  rebalance: 'another node of the hub has more room',
  evicted: 'the hub node was out of reach for too long',
} as const

/** Whether a Close with this reason asks to connect again soon. */
export function isGoAway(reason: string): boolean {
  return Object.values<string>(GO_AWAY).includes(reason)
}
