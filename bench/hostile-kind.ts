import { setTimeout as pause } from 'node:timers/promises'

/** Address of the connections of a hostile address. The normal callers have 127.0.0.1. */
export const HOSTILE_ADDRESS = '127.0.0.2'

/** The hub under attack, and the credentials of one hostile person and of devices. */
export type HostileTarget = {
  url: string
  deploymentToken: string
  userToken: string
  /** Session cookie of the hostile person. */
  cookie: string
  /** Package of the hostile person. */
  packageId: string
  /** Organization of other people. */
  foreignOrganizationId: string
}

/** Results of an attack. */
export type HostileRun = {
  accepted: number
  refused: number
  /** Number of bytes of values, events and metadata that the hub accepted. */
  acceptedBytes: number
  /** Message of the first refusal. */
  refusal?: string
}

/** A kind of attack by one hostile person, address or device. */
export type HostileKind = {
  /** Ends the sentence "a caller that …" in the report. */
  name: string
  /** Limit that the attack must reach, with one report for its subject. Undefined if its rate alone is harmless. */
  limit?: string
  /** Starts the attack. The returned function ends it; its promise resolves when everything that it holds is released. */
  start(target: HostileTarget, run: HostileRun): Promise<() => Promise<void>>
}

/** Assumed round trip to the hub in milliseconds: the shortest pause before a refused caller retries. */
const ROUND_TRIP_MS = 5

/** Makes the `start` of a kind whose work ends when `isOver()` is true. */
export function untilStopped<Target>(
  work: (attack: Target & { run: HostileRun; isOver: () => boolean }) => Promise<void>,
): (target: Target, run: HostileRun) => Promise<() => Promise<void>> {
  return async (target, run) => {
    let isOver = false
    const done = work({ ...target, run, isOver: () => isOver })
    return () => {
      isOver = true
      return done
    }
  }
}

/** Counts a refusal and waits for the shortest time before a caller could retry. */
export async function countRefusal(run: HostileRun, error: unknown): Promise<void> {
  run.refused++
  run.refusal ??= String(error).slice(0, 250)
  await pause(ROUND_TRIP_MS)
}
