import { type RawBuilder, sql } from 'kysely'
import { tryBrief } from '../../platform/database/client/brief.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { partPattern } from '../../platform/database/client/page.ts'
import { addressStartsOf } from './address-texts.ts'
import { DEVICE_SQL } from './device-sql.ts'

/**
 * The last Unicode character in byte order. Texts that begin with `x` are the range from `x` to `x` followed by this character, which an
 * index can find.
 */
const LAST_CHARACTER = '\u{10ffff}'

/**
 * Maximum number of devices of a project whose name begins with the text that a search sorts by the keys of their names. Reading them takes
 * about 5 ms. A longer text finds the others.
 */
const SORTED_STARTS = 2_000

/** A device that a search found, with the address that matched, if any. */
export type FoundDevice = {
  device_id: string
  name: string | null
  hostname: string | null
  project_id: string
  project_name: string
  is_connected: boolean
  status: 'healthy' | 'warning' | 'error' | 'offline'
  pending_certificates: number
  last_seen_at: string | null
  address: string | null
  interface: string | null
}

type Found = { devices: FoundDevice[]; hasMore: boolean; isCut: boolean }

/** Columns of `FoundDevice`, except those of the address. The query must use the aliases `d` for `device` and `p` for `project`. */
const COLUMNS = sql`d.device_id, d.name, d.hostname, p.project_id, p.name as project_name, d.is_connected,
  ${DEVICE_SQL.status} as status, d.pending_certificates, (${DEVICE_SQL.lastSeen})::text as last_seen_at`

/**
 * Finds devices of an organization, best match first. Indexes serve look-ups by id and by the start of a name, host name, IP address or
 * MAC address. If these find too few devices, the names, host names and ids of all devices of the organization are searched. After
 * `deadlineMs`, 2 s by default, the answer has the devices found so far. PostgreSQL cancels the search when `signal` aborts.
 */
export async function searchDevices(
  db: Db,
  signal: AbortSignal,
  organizationId: string,
  text: string,
  limit: number,
  deadlineMs?: number,
): Promise<Found> {
  let devices: FoundDevice[] = []
  const search = async (tx: Tx): Promise<Found> => {
    const { rows } = await devicesByStart(organizationId, text, limit + 1).execute(tx)
    devices = [...new Map(rows.toReversed().map(row => [row.device_id, row])).values()].reverse()
    if (devices.length <= limit) {
      const known = devices.map(device => device.device_id)
      const others = await devicesByPart(organizationId, text, known, limit + 1 - devices.length).execute(tx)
      devices = [...devices, ...others.rows]
    }
    return { devices: devices.slice(0, limit), hasMore: devices.length > limit, isCut: false }
  }
  const found = await tryBrief(db, signal, search, deadlineMs)
  return found ?? { devices, hasMore: false, isCut: true }
}

/**
 * Query for devices with a field that begins with the text, best match first. A device may occur several times; its first row is its best
 * match.
 */
export function devicesByStart(organizationId: string, text: string, count: number): RawBuilder<FoundDevice> {
  const own = sql`(select project_id from project where organization_id = ${organizationId}) as o`
  const byColumn = (rank: number, column: 'name' | 'hostname') => {
    const start = sql`lower(${sql.ref(`d.${column}`)}) collate "C"`
    return sql`(select ${sql.lit(rank)} as rank, h.* from ${own} cross join lateral (
      select name_key as key, device_id, null::text as address, null::text as interface from (
        select d.name_key, d.device_id from device d
         where d.project_id = o.project_id and ${start} >= lower(${text}::text) and ${start} < lower(${text + LAST_CHARACTER}::text)
         order by ${start} limit ${SORTED_STARTS}) s
       order by key, device_id limit ${count}) h order by key limit ${count})`
  }
  const byAddress = (rank: number, { key, condition }: AddressMatch) =>
    sql`(select ${sql.lit(rank)} as rank, h.* from ${own} cross join lateral (
      select ${key} as key, a.device_id, a.address, a.interface from device_address a
       where a.project_id = o.project_id and ${condition}
       order by ${key} limit ${count}) h order by key limit ${count})`
  const hits = [
    sql`(select 0 as rank, ''::text as key, d.device_id, null::text as address, null::text as interface
      from device d where d.device_id = ${text})`,
    byColumn(1, 'name'),
    byColumn(2, 'hostname'),
    ...addressMatches(text).map((match, index) => byAddress(3 + index, match)),
  ]
  return sql<FoundDevice>`
    select ${COLUMNS}, h.address, h.interface from (${sql.join(hits, sql` union all `)}) h
      join device d on d.device_id = h.device_id
      join project p on p.project_id = d.project_id and p.organization_id = ${organizationId}
     order by h.rank, h.key collate "C", d.name_key, coalesce(d.name, d.hostname, ''), d.device_id`
}

/** Indexed key of the row `a` of `device_address`, and the condition that it begins with a text. */
type AddressMatch = { key: RawBuilder<unknown>; condition: RawBuilder<unknown> }

/** Ways to match a text with addresses, best first: beginning of an IP address, of a MAC address, or of the last three bytes of a MAC. */
export function addressMatches(text: string): AddressMatch[] {
  const { ip, mac } = addressStartsOf(text)
  const match = (key: RawBuilder<unknown>, isMac: boolean, start: string): AddressMatch => ({
    key,
    condition: sql`${isMac ? sql`a.is_mac` : sql`not a.is_mac`} and ${key} >= ${start} and ${key} < ${start + LAST_CHARACTER}`,
  })
  return [
    ...(ip === undefined ? [] : [match(sql`a.address`, false, ip)]),
    ...(mac === undefined
      ? []
      : [match(sql`a.address`, true, mac), match(sql`substr(a.address, 7)`, true, mac)]),
  ]
}

/**
 * Condition that the search of a project finds a device: a part of its name, host name or id, or the beginning of an address. The surrounding
 * query must use the alias `d` for `device`.
 */
export function matchesSearch(text: string, projectId: string): RawBuilder<boolean> {
  const hasPart = sql<boolean>`d.search_text like lower(${partPattern(text)})`
  return addressMatches(text).length === 0
    ? hasPart
    : sql<boolean>`(${hasPart} or ${hasAddress(text, projectId)})`
}

/** Condition that an address of a device begins with a text. A text that cannot be the beginning of an address matches no device. */
export function hasAddress(text: string, projectId: string): RawBuilder<boolean> {
  const matches = addressMatches(text).map(
    ({ condition }) =>
      sql`select a.device_id from device_address a where a.project_id = ${projectId} and ${condition}`,
  )
  return matches.length === 0
    ? sql<boolean>`false`
    : sql<boolean>`d.device_id in (${sql.join(matches, sql` union all `)})`
}

/** Devices with the text anywhere in their name, host name or id. */
function devicesByPart(
  organizationId: string,
  text: string,
  known: string[],
  count: number,
): RawBuilder<FoundDevice> {
  return sql<FoundDevice>`
    select ${COLUMNS}, null::text as address, null::text as interface
      from device d join project p on p.project_id = d.project_id
     where p.organization_id = ${organizationId} and d.search_text like lower(${partPattern(text)})
       and d.device_id <> all (${known}::text[])
     order by d.name_key, d.device_id limit ${count}`
}

/** Field in which a device was found. `start` and `end` are the position of the found part in `value`, in characters. */
type Match = {
  field: 'id' | 'name' | 'hostname' | 'ip' | 'mac'
  value: string
  start: number
  end: number
  interface?: string | undefined
}

/** Returns the field of a found device that matches the text, and the position of the match. */
export function matchOf(device: FoundDevice, text: string): Match {
  const { address } = device
  if (address !== null) {
    const { ip, mac = '' } = addressStartsOf(text)
    const network = { interface: device.interface ?? undefined }
    if (/[.:]/.test(address))
      return {
        field: 'ip',
        value: address,
        start: 0,
        end: Math.min(ip?.length ?? 0, address.length),
        ...network,
      }
    const from = address.startsWith(mac) ? 0 : 6
    const value = (address.match(/../g) ?? []).join(':')
    // `from` and the length of `mac` count digits. `value` has a colon before each pair of digits but the first, so the colons are added.
    const [start, end] = [from + from / 2, from + mac.length + Math.floor((from + mac.length - 1) / 2)]
    return { field: 'mac', value, start, end, ...network }
  }
  const part = text.toLowerCase()
  const fields: [Match['field'], string | null][] = [
    ['name', device.name],
    ['hostname', device.hostname],
  ]
  for (const [field, value] of fields) {
    const start = value?.toLowerCase().indexOf(part) ?? -1
    if (value !== null && start >= 0) return { field, value, start, end: start + part.length }
  }
  const start = Math.max(0, device.device_id.toLowerCase().indexOf(part))
  return {
    field: 'id',
    value: device.device_id,
    start,
    end: Math.min(start + part.length, device.device_id.length),
  }
}
