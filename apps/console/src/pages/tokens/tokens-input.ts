/** Input of the token list's first page, shared with the route's loader, which prefetches it. */
export function tokensInput(projectId: string, q = '') {
  const text = q.trim()
  return { projectId, limit: 100, ...(text && { filter: { text } }) }
}
