import { isConnectionError, sqlState } from '../database/client/errors.ts'

/** Thrown when a backup, a restore or a move cannot be done. The message is one line: what was found, what was expected, what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

/** Runs work on a database. A failure of the database that is not explained otherwise becomes a `BackupError` of one line. */
export async function inOneLine<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (sqlState(error) === undefined && !isConnectionError(error)) throw error
    throw new BackupError(`The database failed: ${(error as Error).message}. Run the command again.`, {
      cause: error,
    })
  }
}
