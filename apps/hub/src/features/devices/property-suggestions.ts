import { LABELS } from '@muster/predicates'
import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import { partPattern } from '../../platform/database/client/page.ts'
import { labelOfPath } from '../labels/index.ts'
import { UPDATE_SQL } from './device-sql.ts'

/** Maximum number of devices whose properties are read for suggestions. */
const MAX_DEVICES = 2_000
/** Maximum number of properties that one call of `suggestNames` reads. Reading 100,000 takes about 0.3 s, and a device may have 500. */
const MAX_READ_PROPERTIES = 100_000
/** Number of the newest devices whose properties are counted first, to estimate how many devices `MAX_READ_PROPERTIES` allows. */
const PROBED_DEVICES = 20
/** Maximum size in bytes of a JSON value whose members (nested JSON fields) are suggested like properties. */
const MAX_UNFOLDED_BYTES = 8 * 1024
/** Maximum depth of the members that are suggested. */
const MAX_UNFOLDED_LEVELS = 4
/** Pattern of the keys of members that are suggested: at most 64 characters. Keys with a dot cannot be part of a path. */
const MEMBER = '^[^.]{1,64}$'
const EXAMPLE_CHARS = 64
/** Maximum length, in characters, of a text that is suggested as a value. It equals the maximum length of a text in a condition. */
const MAX_VALUE_CHARS = 256

/** A suggested path, of a property or of a member of its value, with the kinds of its values. */
type NameRow = {
  path: string
  kinds: string[]
  devices: number
  distinct_count: number
  lowest: string | null
  highest: string | null
  example: string | null
  matches: number
  names: number
}

type NamesOptions = { text: string | undefined; namesOnly: boolean; limit: number }

/**
 * Subquery for all properties, or for one property, of a device of the table expression `sample`. `offset 0` makes PostgreSQL run it for
 * each device. Otherwise, the planner would read all properties of the hub when the sample is a large part of them.
 */
function propertiesOfSample(property?: string): RawBuilder<unknown> {
  const named = property === undefined ? sql`true` : sql`name = ${property}`
  return sql`lateral (
    select device_id, name, value, value_json, value_bytes from device_property
     where device_id = sample.device_id and ${named} offset 0)`
}

/** Subquery for the newest devices `d` of a project that match a condition. */
function newestDevices(projectId: string, condition: RawBuilder<boolean>, max: number) {
  return sql`select d.device_id from device d where d.project_id = ${projectId} and ${condition}
    order by d.first_seen desc, d.device_id desc limit ${max}`
}

/**
 * Suggests names of properties that contain the given text, each label as `dev.muster.labels.` with its key and, unless `namesOnly` is true,
 * paths of members in their JSON values.
 */
export async function suggestNames(
  tx: Tx,
  projectId: string,
  { text, namesOnly, limit }: NamesOptions,
): Promise<{ rows: NameRow[]; nameCount: number; devicesRead: number }> {
  const all = sql<boolean>`true`
  const probe = await sql<{ devices: number; properties: number }>`
    with sample as (${newestDevices(projectId, all, PROBED_DEVICES)})
    select (select count(*) from sample) as devices,
           (select count(*) from sample join ${propertiesOfSample()} p on true) as properties`.execute(tx)
  const { devices, properties } = probe.rows[0]!
  const affordable = Math.floor((MAX_READ_PROPERTIES * devices) / Math.max(1, properties))
  const max = Math.min(MAX_DEVICES, Math.max(PROBED_DEVICES, affordable))
  const counted = await sql<{ devices: number }>`
    select count(*) as devices from (${newestDevices(projectId, all, max)}) sample`.execute(tx)
  const { rows } = await namesQuery(projectId, max, { text, namesOnly, limit }).execute(tx)
  return {
    // Without a match there is one row, which has only the number of names.
    rows: rows.filter(row => row.path !== null),
    nameCount: rows[0]!.names,
    devicesRead: counted.rows[0]!.devices,
  }
}

/** Query for the names of properties of the newest `max` devices. */
export function namesQuery(
  projectId: string,
  max: number,
  { text, namesOnly, limit }: NamesOptions,
): RawBuilder<NameRow> {
  const all = sql<boolean>`true`
  const levels = namesOnly ? 0 : MAX_UNFOLDED_LEVELS
  return sql<NameRow>`
    with recursive sample as materialized (${newestDevices(projectId, all, max)}),
    leaf (device_id, path, value, level) as (
      select p.device_id, p.name, case when coalesce(p.value_bytes, pg_column_size(p.value)) <= ${MAX_UNFOLDED_BYTES} then p.value_json end, 0
        from sample join ${propertiesOfSample()} p on true
      union all
      select l.device_id, l.path || '.' || m.key, m.value, l.level + 1
        from leaf l cross join lateral jsonb_each(l.value) m
       where jsonb_typeof(l.value) = 'object' and (l.level < ${levels} and m.key ~ ${MEMBER} or l.level = 0 and l.path = ${LABELS})
    ), grouped as (
      select path, array_remove(array_agg(distinct jsonb_typeof(value)), null) as kinds, count(distinct device_id) as devices,
             count(distinct hashtext(value::text)) as distinct_count,
             min((value #>> '{}')::numeric) filter (where jsonb_typeof(value) = 'number')::text as lowest,
             max((value #>> '{}')::numeric) filter (where jsonb_typeof(value) = 'number')::text as highest,
             left(min(value #>> '{}') filter (where jsonb_typeof(value) = 'string'), ${EXAMPLE_CHARS}) as example
        from leaf group by path
    )
    select n.names, m.* from (select count(*) as names from grouped) n
      left join (
        select *, count(*) over () as matches
          from grouped where ${text ? sql`lower(path) like lower(${partPattern(text)})` : sql`true`}
         order by path limit ${limit}
      ) m on true
     order by m.path`
}

/** Values of a property with the number of devices for each value, and the distribution of its numbers. */
type Values = {
  values: { value: string; devices: number }[]
  distinct: number
  other: number
  absent: number
  read: number
  numbers: (number | null)[]
  numberCount: number
}

/**
 * Common table expressions for the values that a property has on the newest devices of a project. `condition` is SQL about the device
 * `d`. `#` and the name of a field stand for that field of the update (`ColumnName`). The last expression, `short`, has the values that are
 * short enough to be suggested.
 */
export function sampledValues(
  projectId: string,
  property: string,
  condition: RawBuilder<boolean>,
): RawBuilder<unknown> {
  const label = labelOfPath(property)
  const values = property.startsWith('#')
    ? fieldOfSample(UPDATE_SQL[property.slice(1) as keyof typeof UPDATE_SQL])
    : label === undefined
      ? propertyOfSample(property)
      : sql`select l.device_id, to_jsonb(l.value) as value from sample join device_label l using (device_id) where l.key = ${label}`
  return sql`
    sample as materialized (${newestDevices(projectId, condition, MAX_DEVICES)}),
    found as materialized (${values}),
    short as (select value from found where length(value #>> '{}') <= ${MAX_VALUE_CHARS} or value = 'null')`
}

function propertyOfSample(property: string): RawBuilder<unknown> {
  return sql`
    select p.device_id, jsonb_scalar(p.value_json) as value
      from sample join ${propertiesOfSample(property)} p on true`
}

function fieldOfSample(value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select u.device_id, to_jsonb(${value}) as value
      from sample join device_update u using (device_id) where ${value} is not null`
}

/**
 * Values that a property has on the newest devices of a project, most frequent first. `condition` is SQL about the device `d`. Some
 * names stand for a field of the update, see `sampledValues`.
 */
export async function suggestValues(
  tx: Tx,
  projectId: string,
  property: string,
  condition: RawBuilder<boolean>,
  { text, limit }: { text: string | undefined; limit: number },
): Promise<Values> {
  const sample = sampledValues(projectId, property, condition)
  const { rows } = await sql<{ value: string; devices: number; distinct_count: number }>`
    with ${sample}
    select value::text, count(*) as devices, count(*) over () as distinct_count
      from short where ${text ? sql`lower(value #>> '{}') like lower(${partPattern(text)})` : sql`true`}
     group by value order by devices desc, value limit ${limit}`.execute(tx)
  const summary = await sql<{
    read: number
    present: number
    short: number
    numbers: number
    quartiles: number[] | null
  }>`
    with ${sample},
    numeric as (
      select (value #>> '{}')::numeric as n from short where jsonb_typeof(value) = 'number'
    )
    select (select count(*) from sample) as read, (select count(*) from found) as present, (select count(*) from short) as short,
           (select count(*) from numeric) as numbers,
           (select percentile_disc(array[0, 0.25, 0.5, 0.75, 1]) within group (order by n)
              from numeric where abs(n) < 1e300)::float8[] as quartiles`.execute(tx)
  const { read, present, short, numbers, quartiles } = summary.rows[0]!
  return {
    values: rows,
    distinct: rows[0]?.distinct_count ?? 0,
    other: present - short,
    absent: read - present,
    read,
    numbers: quartiles ?? [],
    numberCount: numbers,
  }
}
