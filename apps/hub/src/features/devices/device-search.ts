import { type RawBuilder, sql } from 'kysely'
import { tryBrief } from '../../platform/database/client/brief.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { partPattern } from '../../platform/database/client/page.ts'
import { addressStartsOf } from './address-texts.ts'
import { DEVICE_SQL } from './device-sql.ts'
import {
  type FoundIn,
  isValueText,
  LAST_CHARACTER,
  labelHits,
  MAX_ENTRIES,
  propertyHits,
  serialHits,
} from './value-search.ts'

/**
 * Maximum number of devices of a project whose name begins with the text that a search sorts by the keys of their names. Reading them takes
 * about 5 ms. A longer text finds the others.
 */
const SORTED_STARTS = 2_000

/** Value of a found device that matched, if it is not its name, host name or id: `found_name` is a label, a property or an interface. */
type FoundValue = { found_in: FoundIn | null; found_name: string | null; found_value: string | null }

/** A device that a search found, with the value that matched. */
export type FoundDevice = FoundValue & {
  device_id: string
  name: string | null
  hostname: string | null
  project_id: string
  project_name: string
  is_connected: boolean
  status: 'healthy' | 'warning' | 'error' | 'offline'
  pending_certificates: number
  last_seen_at: string | null
}

type Found = { devices: FoundDevice[]; hasMore: boolean; isCut: boolean }

/** Columns of `FoundValue` of a device that was found by its name, host name or id. */
const NO_VALUE = sql`null::text as found_in, null::text as found_name, null::text as found_value`
/** Columns of `FoundDevice`, except those of `FoundValue`. The query must use the aliases `d` for `device` and `p` for `project`. */
const COLUMNS = sql`d.device_id, d.name, d.hostname, p.project_id, p.name as project_name, d.is_connected,
  ${DEVICE_SQL.status} as status, d.pending_certificates, (${DEVICE_SQL.lastSeen})::text as last_seen_at`

/**
 * Finds devices of an organization, best match first. Indexes serve look-ups by id and by the start of a name, host name, IP address, MAC
 * address, serial number or label. If these find too few devices, the beginnings of properties and then the names, host names and ids of all
 * devices of the organization are searched; properties are the last in the answer. After `deadlineMs`, 2 s by default, the answer has the
 * devices found so far. PostgreSQL cancels the search when `signal` aborts.
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
    const starts = firstOfEach(rows)
    devices = starts
    if (devices.length <= limit) {
      const values = isValueText(text)
        ? (await devicesByProperty(organizationId, text, limit + 1).execute(tx)).rows
        : []
      devices = firstOfEach([...starts, ...values])
      const known = starts.map(device => device.device_id)
      const parts = await devicesByPart(organizationId, text, known, limit + 1 - starts.length).execute(tx)
      devices = firstOfEach([...starts, ...parts.rows, ...values])
    }
    return { devices: devices.slice(0, limit), hasMore: devices.length > limit, isCut: false }
  }
  const found = await tryBrief(db, signal, search, deadlineMs)
  return found ?? { devices: devices.slice(0, limit), hasMore: devices.length > limit, isCut: true }
}

/** The first row of each device, its best match. */
function firstOfEach(rows: FoundDevice[]): FoundDevice[] {
  const best = new Map<string, FoundDevice>()
  for (const row of rows) if (!best.has(row.device_id)) best.set(row.device_id, row)
  return [...best.values()]
}

/**
 * Query for devices with a field that begins with the text, best match first. A device may occur several times; its first row is its best
 * match.
 */
export function devicesByStart(organizationId: string, text: string, count: number): RawBuilder<FoundDevice> {
  const own = projectsOf(organizationId)
  const byColumn = (rank: number, column: 'name' | 'hostname') => {
    const start = sql`lower(${sql.ref(`d.${column}`)}) collate "C"`
    return sql`(select ${sql.lit(rank)} as rank, h.* from ${own} as o cross join lateral (
      select name_key as key, device_id, ${NO_VALUE} from (
        select d.name_key, d.device_id from device d
         where d.project_id = o.project_id and ${start} >= lower(${text}::text) and ${start} < lower(${text + LAST_CHARACTER}::text)
         order by ${start} limit ${SORTED_STARTS}) s
       order by key, device_id limit ${count}) h order by key limit ${count})`
  }
  const byAddress = (rank: number, { key, condition }: AddressMatch) =>
    sql`(select ${sql.lit(rank)} as rank, h.* from ${own} as o cross join lateral (
      select ${key} as key, a.device_id, 'address', a.interface, a.address from device_address a
       where a.project_id = o.project_id and ${condition}
       order by ${key} limit ${count}) h order by key limit ${count})`
  const addresses = addressMatches(text)
  const values = isValueText(text)
    ? [
        sql`(select ${sql.lit(3 + addresses.length)}, found_value, h.* from ${serialHits(text, MAX_ENTRIES.ofSearch)} h)`,
        sql`(select ${sql.lit(4 + addresses.length)}, found_value, h.* from ${own} as o cross join lateral ${labelHits(sql`o.project_id`, text, count)} h
             order by found_value limit ${count})`,
      ]
    : []
  const hits = [
    sql`(select 0 as rank, ''::text as key, d.device_id, ${NO_VALUE} from device d where d.device_id = ${text})`,
    byColumn(1, 'name'),
    byColumn(2, 'hostname'),
    ...addresses.map((match, index) => byAddress(3 + index, match)),
    ...values,
  ]
  return sql<FoundDevice>`
    select ${COLUMNS}, h.found_in, h.found_name, h.found_value from (${sql.join(hits, sql` union all `)}) h
      join device d on d.device_id = h.device_id
      join project p on p.project_id = d.project_id and p.organization_id = ${organizationId}
     order by h.rank, h.key collate "C", d.name_key, coalesce(d.name, d.hostname, ''), d.device_id`
}

function projectsOf(organizationId: string): RawBuilder<unknown> {
  return sql`(select project_id from project where organization_id = ${organizationId})`
}

/** Query for devices with a property that begins with the text. A device may occur several times. */
function devicesByProperty(organizationId: string, text: string, count: number): RawBuilder<FoundDevice> {
  return sql<FoundDevice>`
    select ${COLUMNS}, h.found_in, h.found_name, h.found_value from ${propertyHits(projectsOf(organizationId), text, MAX_ENTRIES.ofSearch)} h
      join device d on d.device_id = h.device_id
      join project p on p.project_id = d.project_id and p.organization_id = ${organizationId}
     order by h.found_in <> 'serial', h.found_value collate "C", d.name_key, d.device_id limit ${count}`
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
 * Condition that the search of a project finds a device: a part of its name, host name or id, or the beginning of an address, a label or a
 * value. The surrounding query must use the alias `d` for `device`.
 */
export function matchesSearch(text: string, projectId: string): RawBuilder<boolean> {
  const hasPart = sql<boolean>`d.search_text like lower(${partPattern(text)})`
  const hits = valueHits(text, projectId)
  return hits === undefined
    ? hasPart
    : sql<boolean>`(${hasPart} or d.device_id in (select device_id from (${hits}) h))`
}

/** Query for `FoundValue` of the devices of a project, and of others. Undefined for a text that can be no value. */
function valueHits(text: string, projectId: string): RawBuilder<unknown> | undefined {
  const addresses = addressMatches(text).map(
    ({ condition }) => sql`
      select a.device_id, 'address' as found_in, a.interface as found_name, a.address as found_value
        from device_address a where a.project_id = ${projectId} and ${condition}`,
  )
  const project = sql`(select ${projectId}::text as project_id)`
  const values = isValueText(text)
    ? [
        serialHits(text, MAX_ENTRIES.ofList),
        labelHits(sql`${projectId}`, text, undefined),
        propertyHits(project, text, MAX_ENTRIES.ofList),
      ]
    : []
  const hits = [...addresses, ...values]
  return hits.length === 0 ? undefined : sql.join(hits, sql` union all `)
}

/**
 * Where a search of a project found devices, by their ids. Reads the values of those that have the text neither in their name nor in their
 * host name nor in their id.
 */
export async function matchesOf(
  db: Db,
  projectId: string,
  text: string,
  devices: readonly { deviceId: string; name: string | null; hostname: string | null }[],
): Promise<Map<string, DeviceMatch>> {
  const part = text.toLowerCase()
  const hasPart = ({ deviceId, name, hostname }: (typeof devices)[number]) =>
    [name, hostname, deviceId].some(field => field?.toLowerCase().includes(part))
  const others = devices.filter(device => !hasPart(device)).map(device => device.deviceId)
  const hits = others.length > 0 ? valueHits(text, projectId) : undefined
  const { rows } = hits
    ? await sql<FoundValue & { device_id: string }>`
        select * from (${hits}) h where h.device_id = any (${others}::text[])`.execute(db)
    : { rows: [] }
  const values = new Map(rows.toReversed().map(row => [row.device_id, row]))
  const found = new Map<string, DeviceMatch>()
  for (const device of devices) {
    const value = hasPart(device) ? NO_FOUND_VALUE : values.get(device.deviceId)
    if (value) found.set(device.deviceId, matchOf({ ...value, ...device, device_id: device.deviceId }, text))
  }
  return found
}

const NO_FOUND_VALUE: FoundValue = { found_in: null, found_name: null, found_value: null }

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
    select ${COLUMNS}, ${NO_VALUE}
      from device d join project p on p.project_id = d.project_id
     where p.organization_id = ${organizationId} and d.search_text like lower(${partPattern(text)})
       and d.device_id <> all (${known}::text[])
     order by d.name_key, d.device_id limit ${count}`
}

/** Field in which a device was found. `start` and `end` are the position of the found part in `value`, in characters. */
export type DeviceMatch = {
  field: 'id' | 'name' | 'hostname' | 'ip' | 'mac' | 'serial' | 'label' | 'property'
  value: string
  start: number
  end: number
  interface?: string | undefined
  name?: string | undefined
}

/** Returns the field of a found device that matches the text, and the position of the match. */
export function matchOf(
  device: FoundValue & Pick<FoundDevice, 'device_id' | 'name' | 'hostname'>,
  text: string,
): DeviceMatch {
  const { found_in: foundIn, found_name: name, found_value: found } = device
  if (foundIn === 'address') return addressMatch(found!, name, text)
  if (foundIn === 'label') {
    const value = `${name}=${found}`
    const isInValue = !text.includes('=') && found!.toLowerCase().startsWith(text.toLowerCase())
    const start = isInValue ? name!.length + 1 : 0
    return { field: 'label', name: name!, value, start, end: Math.min(start + text.length, value.length) }
  }
  if (foundIn !== null)
    return { field: foundIn, name: name!, value: found!, start: 0, end: Math.min(text.length, found!.length) }
  const part = text.toLowerCase()
  const fields: [DeviceMatch['field'], string | null][] = [
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

function addressMatch(address: string, interfaceName: string | null, text: string): DeviceMatch {
  const { ip, mac = '' } = addressStartsOf(text)
  const network = { interface: interfaceName ?? undefined }
  if (/[.:]/.test(address)) {
    const end = Math.min(ip?.length ?? 0, address.length)
    return { field: 'ip', value: address, start: 0, end, ...network }
  }
  const from = address.startsWith(mac) ? 0 : 6
  const value = (address.match(/../g) ?? []).join(':')
  // `from` and the length of `mac` count digits. `value` has a colon before each pair of digits but the first, so the colons are added.
  const [start, end] = [from + from / 2, from + mac.length + Math.floor((from + mac.length - 1) / 2)]
  return { field: 'mac', value, start, end, ...network }
}
