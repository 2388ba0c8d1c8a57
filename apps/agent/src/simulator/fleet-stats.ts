/** Counts of a simulated fleet, kept up to date while it runs. */
export type FleetStats = {
  /** Devices of the fleet. */
  count: number
  /** Devices that are connected now, and those that were at least once. */
  connected: number
  everConnected: number
  /** Connections that the hub accepted, refused, and that could not be made for other reasons. */
  connects: number
  refused: number
  failed: number
  /** Connections that ended without the simulator wanting it. */
  lost: number
  outages: number
  events: number
  properties: number
  /** Actions that the hub answered with an error. */
  actionErrors: number
  /** The last thing that went wrong, in words. */
  lastProblem: string | undefined
  /** Time from the start until every device had been connected once, in milliseconds. */
  allConnectedAfterMs: number | undefined
}

/** Counts before anything happened. */
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
