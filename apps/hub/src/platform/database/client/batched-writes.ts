import { ActionError } from '@muster/actions'
import { isConnectionError, isDeadlock } from './errors.ts'

/** Options of a `Batcher` that writes to the database: the failures that it retries, and the error when its queue is full. */
export const BATCHED_WRITES = {
  isRetryable: (error: unknown): boolean => isConnectionError(error) || isDeadlock(error),
  overloaded: (): Error =>
    new ActionError('Internal', 'The hub cannot store data fast enough.', { status: 503 }),
}
