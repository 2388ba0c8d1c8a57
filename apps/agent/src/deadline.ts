/** An operation exceeded its deadline. */
class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

/** Returns the promise's outcome, or rejects with a `DeadlineError` that names `what` after `ms` milliseconds. */
export async function withDeadline<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new DeadlineError(`${what} took longer than ${ms / 1000} s`)), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
