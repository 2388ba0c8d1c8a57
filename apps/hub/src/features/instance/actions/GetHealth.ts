import { handler } from '../../../platform/pipeline/handler.ts'
import { readHealth } from '../read-health.ts'

/** Reads the health of the instance. For a part that cannot be read, the answer has the reason instead, and all other parts. */
export const instance_GetHealth = handler('instance_GetHealth', ({ db, services, signal }) =>
  readHealth(db, signal, {
    isDatabaseOnDisk: services.diskSpace.isWatching,
    firstPassword: services.firstPassword,
  }),
)
