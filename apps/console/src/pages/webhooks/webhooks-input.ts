/** Input of the query for the list of webhooks. The route's loader prefetches the first page with the same input. */
export function webhooksInput(organizationId: string, q = '') {
  const text = q.trim()
  return { organizationId, limit: 100, ...(text && { filter: { text } }) }
}
