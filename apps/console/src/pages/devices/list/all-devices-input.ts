/** Default sort order of the list: newest devices first. */
export const DEFAULT_SORT = '-firstSeen' as const

/** Number of devices per page. */
export const PAGE_SIZE = 50

/**
 * Input of the query for the unfiltered device list in its default sort order. The route's loader prefetches the list. A separate module
 * keeps the other modules of the page out of the loader's code. The query does not count the devices, because counting takes longer
 * than reading the first page: `projects_GetSummary` returns their number, and `projects_QueryDeviceCounts` that of a filter.
 */
export const allDevicesInput = (projectId: string) => ({
  projectId,
  limit: PAGE_SIZE,
  countTotal: false,
  sort: DEFAULT_SORT,
})
