/** Input of the query for all saved views of a project that a person sees. The hub's limits allow fewer. */
export const viewsInput = (projectId: string) => ({ projectId, limit: 500 })
