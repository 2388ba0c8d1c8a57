/** Devices that one answer holds. */
export const PAGE_SIZE = 50

/**
 * What the device list asks for when it is neither filtered nor sorted, in a module of its own so that a loader can ask ahead. How
 * many devices there are the summary tells: counting them takes longer than reading the first of them.
 */
export const allDevicesInput = (projectId: string) => ({ projectId, limit: PAGE_SIZE, countTotal: false })
