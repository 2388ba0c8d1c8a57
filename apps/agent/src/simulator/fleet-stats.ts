/** Figures of a simulated fleet, updated while it runs. */
export type FleetStats = {
  /** Number of devices in the fleet. */
  count: number
  /** Number of devices that are connected, and number of devices that have been connected at least once. */
  connected: number
  everConnected: number
  /** Number of connection attempts that the hub accepted, that the hub refused, and that failed for other reasons. */
  connects: number
  refused: number
  failed: number
  /** Number of connections that ended without a simulated outage. */
  lost: number
  outages: number
  events: number
  properties: number
  /** Number of actions that the hub answered with an error. */
  actionErrors: number
  /** Description of the last problem; undefined while there was none. */
  lastProblem: string | undefined
  /** Milliseconds from the start until every device had been connected once; undefined before that. */
  allConnectedAfterMs: number | undefined
}

/** Creates the figures of a fleet before its first connection. All counts except `count` are 0. */
export function emptyStats(count: number): FleetStats {
  return {
    count,
    connected: 0,
    everConnected: 0,
    connects: 0,
    refused: 0,
    failed: 0,
    lost: 0,
    outages: 0,
    events: 0,
    properties: 0,
    actionErrors: 0,
    lastProblem: undefined,
    allConnectedAfterMs: undefined,
  }
}
