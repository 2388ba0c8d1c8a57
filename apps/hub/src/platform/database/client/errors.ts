/**
 * Pattern of SQLSTATE codes. Their class, the first two characters, begins with a digit or is F0, HV, P0 or XX. Node's error codes
 * also consist of capital letters, and some also have five characters (`EPIPE`).
 */
const SQLSTATE = /^(?:[0-9][0-9A-Z]|F0|HV|P0|XX)[0-9A-Z]{3}$/

/** SQLSTATE of an error, or undefined when its code is not a SQLSTATE. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && SQLSTATE.test(code) ? code : undefined
}

/** Whether a statement failed because a row with this key exists already. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505'
}

/** Whether a statement was cancelled, by a timeout or by `pg_cancel_backend`. */
export function isCancelled(error: unknown): boolean {
  return sqlState(error) === '57014'
}

/** Whether a statement got no lock within the `lock_timeout` of its session. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

/** Whether a statement was sent by the name of a prepared one that does not exist. */
export function isUnprepared(error: unknown): boolean {
  return sqlState(error) === '26000'
}

/** Whether PostgreSQL cancelled a statement to break a deadlock. The statement may be retried. */
export function isDeadlock(error: unknown): boolean {
  return sqlState(error) === '40P01'
}

/** SQLSTATE codes of a server that temporarily cannot run statements. */
const UNAVAILABLE = /^(08|25006|53|55P03|57|58)/
/**
 * Node's error codes for an unreachable server. Failed DNS look-ups count, because the host name does not resolve while the
 * server's container restarts.
 */
const OUT_OF_REACH = /^E(CONN|NOENT|PIPE|TIMEDOUT|AI_AGAIN|NOTFOUND|HOST|NET|ADDRNOTAVAIL)/

/** Messages of pg for a connection that is lost or cannot be opened. These errors have no code. */
const LOST =
  /Connection terminated|timeout (exceeded when trying to connect|expired)|Query read timeout|Client has encountered a connection error/

/**
 * Whether an error means that the database cannot be reached, closed the connection or cannot serve at the moment, so that the same
 * statement may be retried. Examples are a full disk, no connection left, a lock held too long and a read-only server.
 */
export function isConnectionError(error: unknown): boolean {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  if (typeof code === 'string' && (UNAVAILABLE.test(code) || OUT_OF_REACH.test(code))) return true
  // Any failure to connect counts, such as EMFILE (too many open files).
  if (syscall === 'connect') return true
  return error instanceof Error && LOST.test(error.message)
}

/** Errors of the sockets of database connections. Sockets to mail servers and object stores have errors with the same codes. */
const socketErrors = new WeakSet<Error>()

/** Marks an error as one of the socket of a database connection. */
export function markSocketError(error: Error): void {
  socketErrors.add(error)
}

/** SQLSTATE codes of an outage: no connection, shutdown or start of the server, read-only server, full or failing disk, no memory. */
const OUTAGE = /^(08|25006|53|57P|58)/

/**
 * Whether an error, or its cause, comes from an outage of the database. Timeouts of statements and locks do not count: their stack says
 * which statement is slow.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const state = sqlState(error)
  if (state !== undefined) return OUTAGE.test(state)
  if (socketErrors.has(error)) return true
  return LOST.test(error.message) || isOutage(error.cause)
}

/** The error for a database server that has not answered for `afterMs` milliseconds. */
export function timeoutError(afterMs: number): Error {
  const error = new Error(`The database has not answered for ${afterMs / 1000} s.`)
  markSocketError(error)
  return Object.assign(error, { code: 'ETIMEDOUT' })
}
