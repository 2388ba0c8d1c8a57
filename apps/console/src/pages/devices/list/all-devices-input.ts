/** Number of devices per page. */
export const PAGE_SIZE = 50

/**
 * Input of the unfiltered, unsorted device list. It is in a separate module for the route's loader, which prefetches the
 * list. It skips the total, because the summary has it and counting takes longer than reading the first page.
 */
export const allDevicesInput = (projectId: string) => ({ projectId, limit: PAGE_SIZE, countTotal: false })
