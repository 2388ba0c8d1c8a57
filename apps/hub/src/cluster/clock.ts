/**
 * Difference between the clock of a node and the clock of the database from which the hub warns, in milliseconds: 5 s. Links and tokens
 * that one node signs and another node checks have lives of minutes, and no clock that is synchronized differs by more than 1 s.
 */
export const MAX_CLOCK_DIFFERENCE_MS = 5_000

/**
 * Runs a statement and compares its time with the clock of this process. `aheadMs` is the least difference that the two clocks can have:
 * the time that the answer took counts as inaccuracy, so that a busy process does not take its own delay for a wrong clock.
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
