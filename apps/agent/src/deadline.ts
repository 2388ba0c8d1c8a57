/** Error of an operation that exceeded its deadline. */
class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

/**
 * Settles like the promise, or rejects with a `DeadlineError` after `ms` milliseconds. `what` names the operation in the error
 * message.
 */
export async function withDeadline<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new DeadlineError(`${what} took longer than ${ms / 1000} s`)), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
