/** What the token list asks for first, shared with the loader that asks ahead. */
export function tokensInput(projectId: string, q = '') {
  const text = q.trim()
  return { projectId, limit: 100, ...(text && { filter: { text } }) }
}
