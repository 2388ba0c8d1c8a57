/** What the device list asks for when it is neither filtered nor sorted, in a module of its own so that a loader can ask ahead. */
export const allDevicesInput = (projectId: string) => ({ projectId, limit: 100 })
