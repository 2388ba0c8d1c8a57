import { setTimeout as pause } from 'node:timers/promises'
import { NoResultError } from 'kysely'
import { isConnectionError, isDeadlock } from './errors.ts'

/** Time for which an unavailable database is retried, in milliseconds. */
const MAX_WAIT_MS = 30_000
/** Pause between two attempts, in milliseconds. */
const PAUSE_MS = 200

/**
 * Runs a query, and retries it while the database is unavailable or when a row was deleted in between (`NoResultError`). Devices
 * that connect need this: a published Nexigon agent that is refused retries only after a minute (decisions, "Devices"), and
 * one-shot commands never retry. Stops retrying when `isOver` returns true.
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
