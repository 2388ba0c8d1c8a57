import { setTimeout as pause } from 'node:timers/promises'
import { NoResultError } from 'kysely'
import { isConnectionError, isDeadlock } from './errors.ts'

/** How long a database that is away is waited for, and how long between two looks, in milliseconds. */
const MAX_WAIT_MS = 30_000
const PAUSE_MS = 200

/**
 * Looks into the database, again while it is away for a moment or what was looked at went in between. Devices that connect need that:
 * public agents that are refused come back a minute later (decisions, "Devices"), and one-shot commands not at all. Gives up early
 * once nobody waits any more.
 */
export async function retryWhileUnavailable<T>(look: () => Promise<T>, isOver: () => boolean): Promise<T> {
  const deadline = performance.now() + MAX_WAIT_MS
  for (;;) {
    try {
      return await look()
    } catch (error) {
      const mayPass = isConnectionError(error) || isDeadlock(error) || error instanceof NoResultError
      if (!mayPass || isOver() || performance.now() > deadline) throw error
    }
    await pause(PAUSE_MS)
  }
}
