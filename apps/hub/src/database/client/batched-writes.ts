import { ActionError } from '@muster/actions'
import { isConnectionError, isDeadlock } from './errors.ts'

/** Options of a `Batcher` whose batches are statements: which failures are tried again, and the refusal when too much waits. */
export const BATCHED_WRITES = {
  isRetryable: (error: unknown): boolean => isConnectionError(error) || isDeadlock(error),
  overloaded: (): Error =>
    new ActionError('Internal', 'The hub cannot store data fast enough.', { status: 503 }),
}
