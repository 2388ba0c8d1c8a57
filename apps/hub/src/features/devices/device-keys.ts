import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import { pathReadings } from './property-paths.ts'

/** What keys are: a column of devices, a MAC address, or the value at the path of a property. */
export type KeyKind = {
  by: 'id' | 'hostname' | 'mac' | 'fingerprintId' | 'property'
  property?: string | undefined
}

/**
 * Finds the devices of a project by keys of one kind. Resolves to the ids of the devices of each key that has one. Host names ignore case, MAC
 * addresses have any notation, and values of properties are texts or numbers.
 */
export async function devicesByKeys(
  tx: Tx,
  projectId: string,
  kind: KeyKind,
  keys: readonly string[],
): Promise<Map<string, string[]>> {
  const stored = keys.flatMap(key => {
    const text = storedKey(kind, key)
    return text === undefined ? [] : [{ key, text }]
  })
  const texts = sql`${stored.map(({ text }) => text)}::text[]`
  const { rows } = await sql<{ text: string; device_ids: string[] }>`
    select f.text, array_agg(distinct f.device_id) as device_ids from (${foundBy(kind, projectId, texts)}) f
     group by f.text`.execute(tx)
  const found = new Map(rows.map(row => [row.text, row.device_ids]))
  return new Map(stored.flatMap(({ key, text }) => (found.has(text) ? [[key, found.get(text)!]] : [])))
}

/** The form in which a key is stored; undefined for a text that can be none. */
function storedKey({ by }: KeyKind, key: string): string | undefined {
  if (key === '') return undefined
  if (by === 'hostname') return key.toLowerCase()
  if (by !== 'mac') return key
  const digits = key.replaceAll(/[:.\-\s]/g, '').toLowerCase()
  return /^([0-9a-f]{12}|[0-9a-f]{16})$/.test(digits) ? digits : undefined
}

/** Query for `device_id` and `text`, the key that the device has. */
function foundBy(
  { by, property }: KeyKind,
  projectId: string,
  texts: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const devices = sql`device d where d.project_id = ${projectId}`
  switch (by) {
    case 'id':
      return sql`select d.device_id, d.device_id as text from ${devices} and d.device_id = any (${texts})`
    case 'fingerprintId':
      return sql`select d.device_id, d.fingerprint_id as text from ${devices} and d.fingerprint_id = any (${texts})`
    case 'hostname':
      return sql`select d.device_id, lower(d.hostname) as text from ${devices} and lower(d.hostname) = any (${texts})`
    case 'mac':
      return sql`select a.device_id, a.address as text from device_address a
        where a.project_id = ${projectId} and a.is_mac and a.address = any (${texts})`
    case 'property': {
      const { names, members } = pathReadings(property ?? '')
      return sql`
        select d.device_id, v.value #>> '{}' as text
          from device d cross join lateral (
            select case r.member when '' then p.value_json else p.value_json #> string_to_array(r.member, '.') end as value
              from unnest(${names}::text[], ${members}::text[]) as r (name, member)
              join device_property p on p.device_id = d.device_id and p.name = r.name
             where r.member = '' or p.value_json #> string_to_array(r.member, '.') is not null
             order by length(r.name) desc limit 1
          ) v
         where d.project_id = ${projectId} and jsonb_typeof(v.value) in ('string', 'number') and v.value #>> '{}' = any (${texts})`
    }
  }
}
