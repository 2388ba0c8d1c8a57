import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Hands steps to the device that asks for them. Only devices ask. */
export const devices_ClaimOperationWork = handler('devices_ClaimOperationWork', {
  byDevice: async ({ caller, services, db, transaction }, input) => ({
    work: await services.operations.claim(caller, input, { db, transaction }),
  }),
  async byOthers() {
    throw refusal()
  },
})
