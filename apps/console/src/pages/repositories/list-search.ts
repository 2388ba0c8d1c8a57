/** Number of rows per request of a repository's lists. */
export const LIST_PAGE_SIZE = 100

/** Search parameters of a repository's lists: part of a name or id, and the sort order. */
export type ListSearch = { q?: string; sort?: string }
