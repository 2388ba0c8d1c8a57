/** Rows that the lists of a repository ask for at once. */
export const LIST_PAGE_SIZE = 100

/** What stands in the address of such a list: part of a name or id, and the order. */
export type ListSearch = { q?: string; sort?: string }
