import { ActionError, MAX_ACTION_BODY_BYTES } from '@muster/actions'
import { sql } from 'kysely'
import { PROPERTY_COLUMNS, propertyOf } from '../../database/device-properties.ts'
import { handler } from '../../handler.ts'

export const devices_QueryProperties = handler('devices_QueryProperties', async ({ db }, { deviceId }) => {
  const properties = db.selectFrom('device_property').where('device_id', '=', deviceId)
  // A device may store more than any door can carry; its memory is not spent before that is known.
  const { bytes } = await properties
    .select(sql<number>`coalesce(sum(octet_length(value::text)), 0)::bigint`.as('bytes'))
    .executeTakeFirstOrThrow()
  if (bytes > MAX_ACTION_BODY_BYTES) {
    throw new ActionError(
      'Invalid',
      `The properties of this device have ${bytes} bytes together, more than ${MAX_ACTION_BODY_BYTES}: get them one by one.`,
      { status: 413 },
    )
  }
  const rows = await properties.select(PROPERTY_COLUMNS).orderBy('name').execute()
  return { properties: Object.fromEntries(rows.map(row => [row.name, propertyOf(row)])) }
})
