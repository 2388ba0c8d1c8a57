/** Times of a query's last answer and last failure, in milliseconds; 0 for never. */
type Answered = { dataUpdatedAt: number; errorUpdatedAt: number }

/**
 * Times of the last refresh of a page with several queries, in milliseconds. `updatedAt` is the time of the oldest
 * answer, `failedAt` the time of the latest failed refresh or 0. Queries without an answer are ignored, because their
 * section shows the error. Returns `undefined` if no query has an answer.
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
