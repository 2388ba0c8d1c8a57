import { ActionError } from '@muster/actions'
import { NoResultError } from 'kysely'
import { refusal } from '../access/authorize.ts'
import { isCancelled, isConnectionError, sqlState } from '../database/client/errors.ts'

const FOREIGN_KEY_VIOLATION = '23503'
const DISK_FULL = '53100'

/**
 * Maps an error to the answer of the action. Expected errors are `ActionError` itself, a full disk, an unavailable or slow
 * database, and a value that PostgreSQL cannot store. A row deleted between the permission check and its use is answered like a
 * missing row. Returns undefined for all other errors, which are bugs.
 */
export function expectedError(error: unknown): ActionError | undefined {
  if (error instanceof ActionError) return error
  const state = sqlState(error)
  if (isCancelled(error)) {
    return new ActionError('Internal', 'The database took too long for this; nothing was changed.', {
      status: 503,
      cause: error,
    })
  }
  const { code } = (error ?? {}) as { code?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ActionError(
      'Internal',
      "The disk of the hub's data folder is full: it has no space or no inodes left.",
      { status: 507, cause: error },
    )
  }
  if (state === DISK_FULL) {
    return new ActionError('Internal', 'The disk of the database is full; nothing was changed.', {
      status: 503,
      cause: error,
    })
  }
  if (isConnectionError(error)) {
    return new ActionError('Internal', 'The database is not available.', { status: 503, cause: error })
  }
  if (state?.startsWith('22')) {
    return new ActionError('Invalid', 'The input has a value that cannot be stored.', { cause: error })
  }
  if (state === FOREIGN_KEY_VIOLATION || error instanceof NoResultError) return refusal()
  return undefined
}
