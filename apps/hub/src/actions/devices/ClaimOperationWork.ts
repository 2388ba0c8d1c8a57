import { handler } from '../../handler.ts'

export const devices_ClaimOperationWork = handler('devices_ClaimOperationWork', async () => ({ work: [] }))
