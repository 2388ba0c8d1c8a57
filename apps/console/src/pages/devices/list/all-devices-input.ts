/** Devices per page. */
export const PAGE_SIZE = 50

/**
 * Input of the unfiltered, unsorted device list, in a module of its own for the route's loader, which prefetches it. It
 * skips the total, which the summary has: counting takes longer than reading the first page.
 */
export const allDevicesInput = (projectId: string) => ({ projectId, limit: PAGE_SIZE, countTotal: false })
