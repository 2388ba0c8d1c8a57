import { handler } from '../../handler.ts'

/** Answers an empty list, because this hub has no device operations. Newer agents poll for them. */
export const devices_ClaimOperationWork = handler('devices_ClaimOperationWork', async () => ({ work: [] }))
