/** Number of rows per request of a repository's lists. */
export const LIST_PAGE_SIZE = 100
