/** Input of the query for the token list. The route's loader prefetches the first page with the same input. */
export function tokensInput(projectId: string, q = '') {
  const text = q.trim()
  return { projectId, limit: 100, ...(text && { filter: { text } }) }
}
