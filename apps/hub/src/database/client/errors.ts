/** The state that PostgreSQL gave an error, if it is one of its own. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Whether a statement failed because a row with its key is there already. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505'
}

/** Whether a statement was ended because it and another waited for each other, so that it may be tried again. */
export function isDeadlock(error: unknown): boolean {
  return sqlState(error) === '40P01'
}

/** What PostgreSQL says. */
const UNAVAILABLE = /^(08|25006|53|55P03|57|58)/
/** What the system says of the way to it: that its name is unknown, too, while its container is started anew. */
const OUT_OF_REACH = /^E(CONN|NOENT|PIPE|TIMEDOUT|AI_AGAIN|NOTFOUND|HOST|NET|ADDRNOTAVAIL)/

/**
 * Whether an error means that the database could not be reached, went away, or cannot serve at the moment (no room, no
 * connection left, a lock held too long, a server that only reads), so that the same statement may be tried again.
 */
export function isConnectionError(error: unknown): boolean {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  if (typeof code === 'string' && (UNAVAILABLE.test(code) || OUT_OF_REACH.test(code))) return true
  // Whatever is in the way, such as too many open files.
  if (syscall === 'connect') return true
  return (
    error instanceof Error &&
    /Connection terminated|timeout (exceeded when trying to connect|expired)|Query read timeout|Client has encountered a connection error/.test(
      error.message,
    )
  )
}

/** Says that a database server that was asked has not answered for so long, in milliseconds. */
export function timeoutError(afterMs: number): Error {
  const error = new Error(`The database has said nothing for ${afterMs / 1000} s.`)
  return Object.assign(error, { code: 'ETIMEDOUT' })
}
