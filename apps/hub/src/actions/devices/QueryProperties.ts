import { ActionError, MAX_ACTION_BODY_BYTES } from '@muster/actions'
import { sql } from 'kysely'
import { PROPERTY_COLUMNS, propertyOf } from '../../database/device-properties.ts'
import { handler } from '../../handler.ts'

/** The most that an answer has around a property besides its name, which is there twice, and around all of them. */
const AROUND_BYTES = 160

export const devices_QueryProperties = handler('devices_QueryProperties', async ({ db }, { deviceId }) => {
  const properties = db.selectFrom('device_property').where('device_id', '=', deviceId)
  // A device may store more than any door can carry; its memory is not spent before that is known.
  const { bytes } = await properties
    .select(
      sql<number>`${AROUND_BYTES} * (count(*) + 1)
        + coalesce(sum(octet_length(value::text) + 2 * octet_length(name)), 0)`.as('bytes'),
    )
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
