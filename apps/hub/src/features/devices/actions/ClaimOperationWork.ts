import { handler } from '../../../platform/pipeline/handler.ts'

/** Returns an empty list, because this hub has no device operations. Newer agents poll for operations. */
export const devices_ClaimOperationWork = handler('devices_ClaimOperationWork', async () => ({ work: [] }))
