/**
 * The hub warns when the clocks of a node and of the database differ by more than this, in milliseconds. Synchronized clocks differ by less
 * than 1 s. Links and tokens that one node signs and another node checks are valid for minutes.
 */
export const MAX_CLOCK_DIFFERENCE_MS = 5_000

/**
 * Runs a statement that returns the time of the database, and compares it with the clock of this process. `aheadMs` is negative if this
 * clock is behind. It is the smallest possible difference, because the duration of the statement is an inaccuracy: a busy process does not
 * report its own delay.
 */
export async function clockDifference<Value>(
  run: () => Promise<Value>,
  databaseMsOf: (value: Value) => number,
): Promise<{ value: Value; aheadMs: number }> {
  const beforeMs = Date.now()
  const value = await run()
  const afterMs = Date.now()
  const databaseMs = databaseMsOf(value)
  if (databaseMs < beforeMs) return { value, aheadMs: Math.round(beforeMs - databaseMs) }
  return { value, aheadMs: Math.min(0, Math.round(afterMs - databaseMs)) }
}
