/** When a query was answered and when it failed, in milliseconds, 0 for never. */
type Answered = { dataUpdatedAt: number; errorUpdatedAt: number }

/**
 * How old a page is that several queries fill: its oldest answer, and the latest failure to replace one. A query that has never been
 * answered counts for nothing, its section says so; nothing at all while that goes for every one.
 */
export function ageOf(queries: readonly Answered[]): { updatedAt: number; failedAt: number } | undefined {
  const answered = queries.filter(({ dataUpdatedAt }) => dataUpdatedAt > 0)
  if (answered.length === 0) return undefined
  const failures = answered
    .filter(({ dataUpdatedAt, errorUpdatedAt }) => errorUpdatedAt > dataUpdatedAt)
    .map(({ errorUpdatedAt }) => errorUpdatedAt)
  return {
    updatedAt: Math.min(...answered.map(({ dataUpdatedAt }) => dataUpdatedAt)),
    failedAt: Math.max(0, ...failures),
  }
}
