import { ActionError, type Actor, MAX_ACTION_BODY_BYTES, MAX_PAGE_SIZE } from '@muster/actions'
import type { RawJson } from '@muster/actions/exact-json'
import { sql } from 'kysely'
import { PROPERTY_COLUMNS, propertyOf } from '../../../link/telemetry/device-properties.ts'
import type { Db } from '../../../platform/database/client/connection.ts'
import { queryPage, rowsWithin } from '../../../platform/database/client/page.ts'
import { PROPERTY_OVERHEAD_BYTES } from '../../../platform/limits/property-totals.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { actorName } from '../../audit/index.ts'

/** Largest total size of the values in a page, in bytes. Names and other fields get the other half of the largest answer. */
const MAX_VALUES_BYTES = MAX_ACTION_BODY_BYTES / 2
const SORTS = { name: { by: sql`name`, type: 'text' } } as const
/** Size of a value's JSON text in bytes. Rows of early versions have no `value_bytes`, so their text is measured. */
const VALUE_BYTES = sql<number>`coalesce(value_bytes, octet_length(value::text))`

/** Returns the properties of a device, keyed by name. */
export const devices_QueryProperties = handler(
  'devices_QueryProperties',
  async ({ db }, { deviceId, limit, cursor, maxValueBytes, withActors = false }) => {
    const isWhole = limit === undefined && cursor === undefined && maxValueBytes === undefined && !withActors
    return isWhole
      ? { properties: await allProperties(db, deviceId) }
      : propertyPage(db, deviceId, { limit: limit ?? MAX_PAGE_SIZE, cursor, maxValueBytes, withActors })
  },
)

/**
 * Reads all properties of a device. Throws `Invalid` if they do not fit into one answer. The default limits let them fit, but
 * the operator can raise the limits.
 */
async function allProperties(db: Db, deviceId: string) {
  const properties = db.selectFrom('device_property').where('device_id', '=', deviceId)
  // The size is checked before the values are read into memory.
  const { bytes } = await properties
    .select(
      sql<number>`${PROPERTY_OVERHEAD_BYTES} * (count(*) + 1)
        + coalesce(sum(${VALUE_BYTES} + 2 * octet_length(name)), 0)`.as('bytes'),
    )
    .executeTakeFirstOrThrow()
  if (bytes > MAX_ACTION_BODY_BYTES) {
    throw new ActionError(
      'Invalid',
      `The properties of this device have ${bytes} bytes together, more than ${MAX_ACTION_BODY_BYTES}: list them with limit, or get them one by one.`,
      { status: 413 },
    )
  }
  const rows = await properties.select(PROPERTY_COLUMNS).orderBy('name').execute()
  return Object.fromEntries(rows.map(row => [row.name, propertyOf(row)]))
}

async function propertyPage(
  db: Db,
  deviceId: string,
  {
    maxValueBytes = MAX_VALUES_BYTES,
    withActors,
    ...page
  }: {
    limit: number
    cursor: string | undefined
    maxValueBytes: number | undefined
    withActors: boolean
  },
) {
  const properties = db.selectFrom('device_property').where('device_id', '=', deviceId)
  const sizes = properties.select(
    sql<number>`least(${VALUE_BYTES}, ${maxValueBytes}::integer) + 2 * octet_length(name) + ${PROPERTY_OVERHEAD_BYTES}::integer`.as(
      'bytes',
    ),
  )
  const measured = await queryPage(sizes, { ...page, countTotal: false }, SORTS, sql`name`, 'name')
  const limit = rowsWithin(MAX_VALUES_BYTES, measured.rows)
  const columns = properties.select([
    'name',
    'protected',
    'version',
    'last_updated',
    VALUE_BYTES.as('value_size'),
    // A value of more than `maxValueBytes` is replaced by a string: the truncated JSON text.
    sql<RawJson>`case when ${VALUE_BYTES} > ${maxValueBytes}::integer then to_json(left(value::text, ${maxValueBytes}::integer)) else value end`.as(
      'value',
    ),
  ])
  const { rows, ...rest } = await queryPage(columns, { ...page, limit }, SORTS, sql`name`, 'name')
  const names = rows.map(row => row.name)
  const actors = withActors ? await lastActors(db, deviceId, names) : new Map<string, never>()
  return {
    properties: Object.fromEntries(
      rows.map(row => [
        row.name,
        {
          ...propertyOf(row),
          valueBytes: row.value_size,
          ...(row.value_size > maxValueBytes && { isCut: true }),
          changedBy: actors.get(row.name),
        },
      ]),
    ),
    ...rest,
  }
}

/**
 * Returns the actor of the last change of each property, from the property history. The history does not contain changes of system
 * information, nor changes older than its retention.
 */
async function lastActors(db: Db, deviceId: string, names: readonly string[]) {
  const { rows } = await sql<{ name: string; actor: Actor; actor_name: string | null }>`
    with c as materialized (
      select k.name, c.actor
        from unnest(${names}::text[]) as k (name)
       cross join lateral (
         select c.actor from device_property_change c
          where c.device_id = ${deviceId} and c.name = k.name
          order by c.changed_at desc, c.version desc limit 1
       ) c
    )
    select c.name, c.actor, ${actorName(sql`coalesce(c.actor ->> 'userId', c.actor ->> 'deviceId', c.actor ->> 'nodeId')`)}
      from c`.execute(db)
  return new Map(
    rows.map(({ name, actor, actor_name }) => [name, { actor, actorName: actor_name ?? undefined }]),
  )
}
