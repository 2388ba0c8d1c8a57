import { setTimeout as pause } from 'node:timers/promises'
import { NoResultError } from 'kysely'
import { isConnectionError, isDeadlock } from '../database/connection.ts'

/** How long who connects waits for a database that is away, and how long between two looks, in milliseconds. */
const MAX_WAIT_MS = 30_000
const PAUSE_MS = 200

/**
 * Looks whether somebody may connect, again while the database is away for a moment or what was looked at went in between: public
 * agents that are refused come back a minute later (decisions, "Devices"), and one-shot commands not at all. Gives up early once
 * nobody waits any more.
 */
export async function askedAgain<T>(look: () => Promise<T>, isOver: () => boolean): Promise<T> {
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
