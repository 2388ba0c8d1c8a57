/** What the token list asks for first, shared with the loader that asks ahead. */
export const tokensInput = (projectId: string) => ({ projectId, limit: 100 })
