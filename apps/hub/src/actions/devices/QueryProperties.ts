import { PROPERTY_COLUMNS, propertyOf } from '../../database/device-properties.ts'
import { handler } from '../../handler.ts'

export const devices_QueryProperties = handler('devices_QueryProperties', async ({ db }, { deviceId }) => {
  const rows = await db
    .selectFrom('device_property')
    .where('device_id', '=', deviceId)
    .select(PROPERTY_COLUMNS)
    .orderBy('name')
    .execute()
  return { properties: Object.fromEntries(rows.map(row => [row.name, propertyOf(row)])) }
})
