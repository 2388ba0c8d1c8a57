import { sortVersions } from '@muster/predicates/version-order'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { cutPage, type RowPlace, readCursor, wrongCursor } from '../../platform/database/client/page.ts'
import { inVersionOrder, isVersionProperty } from './version-order.ts'

/**
 * Number of entries of the index `device_property_value` that are read in index order. If they contain too few devices of the project,
 * the project's devices are read instead. The index holds the properties of all projects. Reading 2,000 entries takes about 5 ms.
 */
const WINDOW_ENTRIES = 2_000

/**
 * Number of different versions in the index, of all projects, up to which a page is read version by version, and of those that it reads.
 * Listing the versions takes about 10 µs each.
 */
const VERSIONS = { listed: 1_000, read: 20 }

/** Value of a property, as the index `device_property_value` holds it: null for objects, arrays and large values. */
const VALUE = sql`jsonb_scalar(p.value_json)`

/**
 * Boundary between strings and numbers: `jsonb` sorts null, strings, numbers and booleans in this order. This number is below all numbers
 * in the index, because `jsonb_scalar` leaves out values of more than 2,000 characters.
 */
const BELOW_NUMBERS = sql`${'-1e2000'}::jsonb`

/** Ranges of values, in the sequence in which the list shows them. Each is one range of the index. */
const RANGES: readonly RawBuilder<boolean>[] = [
  sql`${VALUE} > ${BELOW_NUMBERS} and ${VALUE} < 'false'::jsonb`,
  sql`${VALUE} > 'null'::jsonb and ${VALUE} < ${BELOW_NUMBERS}`,
  sql`${VALUE} >= 'false'::jsonb`,
  sql`${VALUE} = 'null'::jsonb`,
  sql`${VALUE} is null`,
]
/** Range number of strings. */
const STRINGS = 1
/** Range number of devices without the property. They are last in both sort directions, newest first. */
const ABSENT = RANGES.length

/** Position in the list: number of a range, and the value and the id of the last row in it. */
type Place = { range: number; last?: { value: string; deviceId: string } }

// Kysely's builder is invariant in the joined tables, which do not matter here.
// biome-ignore lint/suspicious/noExplicitAny: see above
type DeviceQuery<Row> = SelectQueryBuilder<any, any, Row>

type PropertyOrder = { property: string; isDescending: boolean }

/**
 * Reads one page of devices sorted by the value of a property: numbers, strings, booleans, null, other values, and then devices without
 * the property. The strings of a property whose name ends with `version` are sorted as versions. The sort direction applies within each of
 * these kinds and does not change their sequence. `devices` selects from the devices `d` of a project. Without `limit` it reads the whole
 * list. Throws `Invalid` for a cursor of another sort order.
 */
export async function pageByProperty<Row>(
  db: Db,
  devices: DeviceQuery<Row>,
  order: PropertyOrder,
  { sort, cursor, limit }: { sort: string; cursor?: string | undefined; limit?: number | undefined },
): Promise<{ rows: Row[]; nextCursor?: string }> {
  const start = cursor === undefined ? { range: 0 } : placeOf(readCursor(cursor, sort))
  const rows: (Row & RowPlace)[] = []
  for (let range = start.range; range <= ABSENT; range++) {
    const missing = limit === undefined ? undefined : limit + 1 - rows.length
    if (missing === 0) break
    const place = range === start.range ? start : { range }
    const found =
      range === ABSENT
        ? await absentRows(devices, order, place, missing)
        : await presentRows(db, devices, order, place, missing)
    rows.push(...found.map(row => ({ ...row, __key: `${range}${row.__key}` })))
  }
  return cutPage(rows, limit, sort)
}

function placeOf([key, deviceId]: [string, string]): Place {
  if (!/^[0-5]/.test(key)) throw wrongCursor()
  return { range: Number(key[0]), last: { value: key.slice(1), deviceId } }
}

/**
 * Rows of a range of values after the given place. They come from the next index entries if these suffice, else from the project's
 * devices.
 */
async function presentRows<Row>(
  db: Db,
  devices: DeviceQuery<Row>,
  order: PropertyOrder,
  place: Place,
  count: number | undefined,
): Promise<(Row & RowPlace)[]> {
  if (place.range === STRINGS && isVersionProperty(order.property))
    return (
      (count === undefined ? undefined : await nextVersionRows(db, devices, order, place, count)) ??
      versionRows(devices, order, place, count)
    )
  if (count !== undefined) {
    const found = await windowQuery(devices, order, place, count).execute()
    if (found.length === count || (await isWholeRange(db, order, place))) return found
  }
  return valuesQuery(devices, order, place, count).execute()
}

/**
 * Rows of a property that has versions, from its index: version by version, the next entries of each. Undefined if these are too many versions
 * or too few devices of the list.
 */
async function nextVersionRows<Row>(
  db: Db,
  devices: DeviceQuery<Row>,
  order: PropertyOrder,
  { last }: Place,
  count: number,
): Promise<(Row & RowPlace)[] | undefined> {
  const { rows: known } = await indexedVersions(order.property).execute(db)
  if (known.length > VERSIONS.listed) return undefined
  const lastVersion = last && textOf(last.value)
  const versions = new Set(known.map(({ version }) => version))
  if (lastVersion !== undefined) versions.add(lastVersion)
  const sequence = sortVersions([...versions])
  if (order.isDescending) sequence.reverse()
  const next = sequence.slice(lastVersion === undefined ? 0 : sequence.indexOf(lastVersion))
  const rows: (Row & RowPlace)[] = []
  let entryCount = WINDOW_ENTRIES
  for (const [index, version] of next.entries()) {
    if (index === VERSIONS.read) return undefined
    const afterId = version === lastVersion ? last!.deviceId : undefined
    const { rows: entries } = await versionWindow(order, { version, afterId, count: entryCount }).execute(db)
    const direction = sql.raw(order.isDescending ? 'desc' : 'asc')
    const found = devices
      .where(sql<boolean>`d.device_id = any (${entries.map(entry => entry.deviceId)}::text[])`)
      .select([sql<string>`to_jsonb(${version}::text)::text`.as('__key'), 'd.device_id as __id'])
      .orderBy(sql`d.device_id ${direction}`)
      .limit(count - rows.length)
    rows.push(...((await found.execute()) as (Row & RowPlace)[]))
    if (rows.length === count) return rows
    entryCount -= entries.length
    if (entryCount <= 0) return undefined
  }
  return rows
}

/** The different versions in the index of a property, one more than are listed at most. Each is found by a look-up. */
function indexedVersions(property: string): RawBuilder<{ version: string }> {
  const least = (above: RawBuilder<unknown>) => sql`(
    select ${VALUE} from device_property p
     where p.name = ${property} and ${VALUE} > ${above} and ${VALUE} < ${BELOW_NUMBERS} order by ${VALUE} limit 1)`
  return sql<{ version: string }>`
    with recursive v (value) as (
      select ${least(sql`'null'::jsonb`)} union all select ${least(sql`v.value`)} from v where v.value is not null
    )
    select value #>> '{}' as version from v where value is not null limit ${VERSIONS.listed + 1}`
}

/** The next entries of the index for a version, in the order of the ids of their devices, which may belong to any project. */
export function versionWindow(
  { property, isDescending }: PropertyOrder,
  { version, afterId, count }: { version: string; afterId: string | undefined; count: number },
): RawBuilder<{ deviceId: string }> {
  const isAfter = sql.raw(isDescending ? '<' : '>')
  const direction = sql.raw(isDescending ? 'desc' : 'asc')
  return sql<{ deviceId: string }>`
    select p.device_id as "deviceId" from device_property p
     where p.name = ${property} and ${VALUE} = to_jsonb(${version}::text)
       and ${afterId === undefined ? sql`true` : sql`p.device_id ${isAfter} ${afterId}`}
     order by p.device_id ${direction} limit ${count}`
}

/** Rows of the strings of a property that has versions. */
async function versionRows<Row>(
  devices: DeviceQuery<Row>,
  order: PropertyOrder,
  { range, last }: Place,
  count: number | undefined,
): Promise<(Row & RowPlace)[]> {
  const query = await inVersionOrder(joinValues(devices, order, { range }), {
    version: sql<string>`v.value #>> '{}'`,
    isDescending: order.isDescending,
    after: last && { version: textOf(last.value), deviceId: last.deviceId },
    count,
  })
  return query.select(sql<string>`v.value::text`.as('__key')).execute() as Promise<(Row & RowPlace)[]>
}

/** The string of a place, which has it as JSON. Throws `Invalid` for a cursor that has another value. */
function textOf(value: string): string {
  try {
    const text: unknown = JSON.parse(value)
    if (typeof text === 'string' && !text.includes('\0')) return text
  } catch {
    // Rejected below, as any other value.
  }
  throw wrongCursor()
}

/** Condition that the value of a property `p` is in a range, after the given place. */
function isInRange({ property, isDescending }: PropertyOrder, { range, last }: Place): RawBuilder<boolean> {
  const isAfter = sql.raw(isDescending ? '<' : '>')
  const rest =
    last === undefined
      ? sql`true`
      : range === RANGES.length - 1
        ? sql`p.device_id ${isAfter} ${last.deviceId}`
        : sql`(${VALUE}, p.device_id) ${isAfter} (${last.value}::jsonb, ${last.deviceId})`
  return sql<boolean>`p.name = ${property} and ${RANGES[range]!} and ${rest}`
}

/** Subquery for the next `WINDOW_ENTRIES` index entries, in index order. They may belong to devices of any project. */
function windowOf(order: PropertyOrder, place: Place): RawBuilder<unknown> {
  const direction = sql.raw(order.isDescending ? 'desc' : 'asc')
  return sql`(
    select p.device_id, ${VALUE} as value from device_property p where ${isInRange(order, place)}
     order by ${VALUE} ${direction}, p.device_id ${direction} limit ${WINDOW_ENTRIES})`
}

/** Query for the project's devices whose properties are among the next index entries. */
export function windowQuery<Row>(
  devices: DeviceQuery<Row>,
  order: PropertyOrder,
  place: Place,
  count: number,
): DeviceQuery<Row & RowPlace> {
  const joined = devices.innerJoin(windowOf(order, place).as('v') as never, 'v.device_id', 'd.device_id')
  return inOrder(joined, order, count)
}

/** Whether the index entries that `windowQuery` reads reach the end of the range. */
async function isWholeRange(db: Db, order: PropertyOrder, place: Place): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`select count(*) from ${windowOf(order, place)} v`.execute(db)
  return rows[0]!.count < WINDOW_ENTRIES
}

/** Query for the devices of a project with a value in a range. */
export function valuesQuery<Row>(
  devices: DeviceQuery<Row>,
  order: PropertyOrder,
  place: Place,
  count: number | undefined,
): DeviceQuery<Row & RowPlace> {
  return inOrder(joinValues(devices, order, place), order, count)
}

/**
 * Joins the devices of a project with their value in a range. `offset 0` makes PostgreSQL look up the property of each device by its key.
 * Otherwise, the planner would read the properties of all projects.
 */
function joinValues<Row>(devices: DeviceQuery<Row>, order: PropertyOrder, place: Place): DeviceQuery<Row> {
  const value = sql`(
    select ${VALUE} as value from device_property p where p.device_id = d.device_id and ${isInRange(order, place)} offset 0)`
  return devices.innerJoinLateral(value.as('v') as never, join => join.onTrue())
}

function inOrder<Row>(
  query: DeviceQuery<Row>,
  { isDescending }: PropertyOrder,
  count: number | undefined,
): DeviceQuery<Row & RowPlace> {
  const direction = sql.raw(isDescending ? 'desc' : 'asc')
  return query
    .select([sql<string>`coalesce(v.value::text, '')`.as('__key'), 'd.device_id as __id'])
    .orderBy(sql`v.value ${direction}, d.device_id ${direction}`)
    .$if(count !== undefined, some => some.limit(count!)) as DeviceQuery<Row & RowPlace>
}

/** Devices without the property, newest first. */
function absentRows<Row>(
  devices: DeviceQuery<Row>,
  order: PropertyOrder,
  place: Place,
  count: number | undefined,
): Promise<(Row & RowPlace)[]> {
  return absentQuery(devices, order, place, count).execute()
}

/** Query for the devices without a property. The subquery makes PostgreSQL look up the property of each device by its key. */
export function absentQuery<Row>(
  devices: DeviceQuery<Row>,
  { property }: PropertyOrder,
  { last }: Place,
  count: number | undefined,
): DeviceQuery<Row & RowPlace> {
  const isThere = sql`(select true from device_property p where p.device_id = d.device_id and p.name = ${property})`
  const isAfter =
    last === undefined
      ? sql<boolean>`true`
      : sql<boolean>`(d.first_seen, d.device_id) < (${last.value}::timestamptz, ${last.deviceId})`
  return devices
    .where(sql<boolean>`${isThere} is null and ${isAfter}`)
    .select([sql<string>`d.first_seen::text`.as('__key'), 'd.device_id as __id'])
    .orderBy(sql`d.first_seen desc, d.device_id desc`)
    .$if(count !== undefined, some => some.limit(count!)) as DeviceQuery<Row & RowPlace>
}
