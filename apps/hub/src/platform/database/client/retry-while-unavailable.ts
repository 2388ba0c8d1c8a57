import { setTimeout as pause } from 'node:timers/promises'
import { NoResultError } from 'kysely'
import { isConnectionError, isDeadlock } from './errors.ts'

/** Time for which an unavailable database is retried, in milliseconds. */
const MAX_WAIT_MS = 30_000
/** Pause between two attempts, in milliseconds. */
const PAUSE_MS = 200

/**
 * Runs `query`. Retries while the database is unavailable, and when a row that `query` had found was deleted before its use
 * (`NoResultError`). Connecting devices need the retries: after a refusal, a published Nexigon agent waits a minute before it connects
 * again (docs/decisions.md, "Tokens and enrolment"). Commands of the agent that a script on the device runs do not try again at all. Stops
 * retrying when `isAborted` returns true.
 */
export async function retryWhileUnavailable<T>(
  query: () => Promise<T>,
  isAborted: () => boolean,
): Promise<T> {
  const deadline = performance.now() + MAX_WAIT_MS
  for (;;) {
    try {
      return await query()
    } catch (error) {
      const mayPass = isConnectionError(error) || isDeadlock(error) || error instanceof NoResultError
      if (!mayPass || isAborted() || performance.now() > deadline) throw error
    }
    await pause(PAUSE_MS)
  }
}
