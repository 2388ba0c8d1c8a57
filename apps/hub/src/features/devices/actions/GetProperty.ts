import { PROPERTY_COLUMNS, propertyOf } from '../../../link/telemetry/device-properties.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Returns the current value of a property. */
export const devices_GetProperty = handler('devices_GetProperty', async ({ db }, { deviceId, name }) => {
  const row = await db
    .selectFrom('device_property')
    .where('device_id', '=', deviceId)
    .where('name', '=', name)
    .select(PROPERTY_COLUMNS)
    .executeTakeFirst()
  return row ? { result: 'Found' as const, ...propertyOf(row) } : { result: 'NotFound' as const }
})
