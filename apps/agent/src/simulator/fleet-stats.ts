/** Live counts of a simulated fleet. */
export type FleetStats = {
  /** Devices of the fleet. */
  count: number
  /** Devices connected now, and devices connected at least once. */
  connected: number
  everConnected: number
  /** Connections accepted by the hub, refused by it, and failed for other reasons. */
  connects: number
  refused: number
  failed: number
  /** Connections that ended without a simulated outage. */
  lost: number
  outages: number
  events: number
  properties: number
  /** Actions answered with an error. */
  actionErrors: number
  /** Description of the last problem. */
  lastProblem: string | undefined
  /** Milliseconds from the start until every device had been connected once. */
  allConnectedAfterMs: number | undefined
}

/** Counts at the start. */
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
