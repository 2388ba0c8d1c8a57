import { type RawBuilder, sql } from 'kysely'
import { labelOfDevice, labelOfPath } from '../labels/index.ts'

/** Maximum length, in characters, of a value in a column of a device list. */
const COLUMN_CHARS = 200
/**
 * Maximum size, in bytes of JSON, of a value that a column reads. For a larger value it shows the size. Reading eight values of 1 MiB for
 * each of 500 rows would take seconds.
 */
const MAX_READ_BYTES = 64 * 1024

/**
 * Ways to split a path such as `a.b.c` into the name of a property and the path of a member of its JSON value. Both may contain dots. The
 * longest name is first.
 */
export function pathReadings(path: string): { names: string[]; members: string[] } {
  const parts = path.split('.')
  const ends = parts.map((_, index) => parts.length - index)
  return {
    names: ends.map(end => parts.slice(0, end).join('.')),
    members: ends.map(end => parts.slice(end).join('.')),
  }
}

/**
 * Text of the value at a path, cut to 200 characters: strings without quotes, other values as JSON, null if the device has no such value.
 * The first character is `=` for a property or a label, and `.` for a member of a property's JSON value. The surrounding query must use the alias `d`
 * for `device`. PostgreSQL evaluates this subquery after sort and limit, so only for a page's rows.
 */
export function columnText(path: string): RawBuilder<string | null> {
  const label = labelOfPath(path)
  if (label !== undefined) return sql<string | null>`'=' || left(${labelOfDevice(label)}, ${COLUMN_CHARS})`
  const { names, members } = pathReadings(path)
  return sql<string | null>`(
    select case r.member when '' then '=' else '.' end || left(case
        when coalesce(p.value_bytes, pg_column_size(p.value)) > ${MAX_READ_BYTES} then '(' || p.value_bytes || ' bytes)'
        when r.member = '' then case jsonb_typeof(p.value_json) when 'string' then p.value_json #>> '{}' else p.value::text end
        else p.value_json #>> string_to_array(r.member, '.') end, ${COLUMN_CHARS})
      from unnest(${names}::text[], ${members}::text[]) as r (name, member)
      join device_property p on p.device_id = d.device_id and p.name = r.name
     where r.member = '' or p.value_json #> string_to_array(r.member, '.') is not null
     order by length(r.name) desc limit 1)`
}
