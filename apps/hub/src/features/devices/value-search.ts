import { type RawBuilder, sql } from 'kysely'

/**
 * The last Unicode character in byte order. Texts that begin with `x` are the range from `x` to `x` followed by this character, which an
 * index can find.
 */
export const LAST_CHARACTER = '\u{10ffff}'

/** Shortest text, in characters, that is looked for in labels and values. A single one begins too many of them. */
const MIN_CHARS = 2
/** Newest devices of each project whose properties are looked through, and their number in all projects. */
const SAMPLED = { ofProject: 20, all: 1_000 }
/** Maximum number of properties of a sampled device that are read, and of names whose values are looked through. */
const NAMES = { ofDevice: 200, all: 100 }
/** Maximum number of keys of labels of a project that are looked through. */
const MAX_KEYS = 200
/**
 * Maximum number of index entries of values that are read for a list, and for a search. They may belong to devices of any project. Reading
 * 20,000 takes about 0.1 s.
 */
export const MAX_ENTRIES = { ofList: 20_000, ofSearch: 2_000 }

/** Where a search found a device that has the text neither in its name nor in its host name nor in its id. */
export type FoundIn = 'address' | 'serial' | 'label' | 'property'

/** Whether a text is long enough to be looked for in labels and values. */
export function isValueText(text: string): boolean {
  return [...text].length >= MIN_CHARS
}

/** The text as it was typed, and in small and large letters. Indexes of values keep the case. */
function spellings(text: string): string[] {
  return [...new Set([text, text.toLowerCase(), text.toUpperCase()])]
}

/**
 * Query for the labels of a project whose key or value begins with a text, or with `KEY=` the value. `count` limits each of its parts. The
 * index by project, key and value serves it: it looks through the keys one after the other.
 */
export function labelHits(
  projectId: RawBuilder<unknown>,
  text: string,
  count: number | undefined,
): RawBuilder<unknown> {
  const limit = count === undefined ? sql`` : sql`limit ${count}`
  const columns = sql`l.device_id, 'label' as found_in, l.key as found_name, l.value as found_value`
  const begins = (column: RawBuilder<unknown>, start: RawBuilder<unknown>) =>
    sql`${column} >= ${start} and ${column} < ${start} || ${LAST_CHARACTER}::text`
  const [key, value] = [sql.ref('l.key'), sql.ref('l.value')]
  const at = text.indexOf('=')
  if (at > 0)
    return sql`(
      select ${columns} from unnest(${spellings(text.slice(at + 1))}::text[]) as s (start)
       cross join lateral (
         select * from device_label l
          where l.project_id = ${projectId} and ${key} = ${text.slice(0, at).toLowerCase()} and ${begins(value, sql`s.start`)}
          order by l.value, l.device_id ${limit}) l)`
  const next = (after: RawBuilder<unknown>) => sql`(
    select l.key from device_label l where l.project_id = ${projectId} ${after} order by l.key limit 1)`
  return sql`(
    with recursive known (key, at) as (
      select ${next(sql``)}, 1
      union all select ${next(sql`and l.key > known.key`)}, at + 1 from known where known.key is not null and at < ${MAX_KEYS}
    )
    select ${columns} from known cross join unnest(${spellings(text)}::text[]) as s (start)
     cross join lateral (
       select * from device_label l
        where l.project_id = ${projectId} and l.key = known.key and ${begins(value, sql`s.start`)}
        order by l.value, l.device_id ${limit}) l
    union all (
      select ${columns} from device_label l
       where l.project_id = ${projectId} and ${begins(key, sql`${text.toLowerCase()}::text`)}
       order by l.key, l.value, l.device_id ${limit}))`
}

const SERIAL = sql`(lower(left(coalesce(p.value_json ->> 'serial', p.value_json ->> 'serialNumber'), 255)) collate "C")`

/** Query for the serial numbers that begin with a text, in devices of any project: members of the objects that devices report. */
export function serialHits(text: string, entries: number): RawBuilder<unknown> {
  return sql`(
    select p.device_id, 'serial' as found_in,
           p.name || case when p.value_json ->> 'serial' is null then '.serialNumber' else '.serial' end as found_name,
           left(coalesce(p.value_json ->> 'serial', p.value_json ->> 'serialNumber'), 255) as found_value
      from device_property p
     where coalesce(p.value_json ->> 'serial', p.value_json ->> 'serialNumber') is not null
       and ${SERIAL} >= lower(${text}::text) and ${SERIAL} < lower(${text + LAST_CHARACTER}::text)
     order by ${SERIAL}, p.device_id limit ${entries})`
}

/**
 * Query for the properties whose text begins with a text, or whose number it is, in devices of any project. It looks through the properties
 * that the newest devices of these projects have. `projects` is a query for ids of projects.
 */
export function propertyHits(
  projects: RawBuilder<unknown>,
  text: string,
  entries: number,
): RawBuilder<unknown> {
  const value = sql`jsonb_scalar(p.value_json)`
  const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)
  const ranges = [
    ...spellings(text).map(start => [JSON.stringify(start), JSON.stringify(start + LAST_CHARACTER)]),
    ...(isNumber ? [[text, text]] : []),
  ]
  return sql`(
    with sample as materialized (
      select d.device_id from ${projects} as o cross join lateral (
        select d.device_id from device d where d.project_id = o.project_id
         order by d.first_seen desc, d.device_id desc limit ${SAMPLED.ofProject}) d
       limit ${SAMPLED.all}
    ), named as materialized (
      select distinct p.name from sample cross join lateral (
        select p.name from device_property p where p.device_id = sample.device_id order by p.name limit ${NAMES.ofDevice}) p
       order by p.name limit ${NAMES.all}
    )
    select p.device_id, case when lower(p.name) ~ 'serial([._-]?(number|no))?$' then 'serial' else 'property' end as found_in,
           p.name as found_name, left(p.value #>> '{}', 255) as found_value
      from named cross join unnest(${ranges.map(([least]) => least)}::text[], ${ranges.map(([, most]) => most)}::text[]) as r (least, most)
     cross join lateral (
       select p.device_id, p.name, ${value} as value from device_property p
        where p.name = named.name and ${value} >= r.least::jsonb and ${value} <= r.most::jsonb
          and starts_with(${value} #>> '{}', r.least::jsonb #>> '{}')
        order by ${value}, p.device_id limit ${entries}) p
     limit ${entries})`
}
