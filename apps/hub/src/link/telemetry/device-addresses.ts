import { isIP, isIPv4 } from 'node:net'
import { RawJson } from '@muster/actions/exact-json'
import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/client/connection.ts'

/** Properties in which a device describes its system. Agents write them at each connect and every 30 min, so no history is kept. */
export const SYSTEM_INFO = ['dev.nexigon.system.info', 'dev.nexigon.systemInfo']

/** Maximum number of addresses that are stored for a device, as rows of `device_address`. */
const MAX_ADDRESSES = 32
/** Maximum number of networks that are read from the report of a device. */
const MAX_NETWORKS = 256
/** Maximum number of IP addresses that are read for each network. */
const MAX_OF_NETWORK = 64
/** Maximum length, in characters, of the stored name of a network interface. Linux allows 15. */
const MAX_INTERFACE = 32
/** Maximum length, in characters, of a text that is read as an address. IPv6 addresses with prefix length and zone are shorter. */
const MAX_TEXT = 64

type DeviceAddress = { address: string; is_mac: boolean; interface: string | null }

/** Shortest form of an IP address without prefix length and zone; undefined for other values, loopback and unspecified addresses. */
function ipOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_TEXT) return undefined
  const text = value.trim().split(/[/%]/, 1)[0]!
  if (isIP(text) === 0) return undefined
  const address = isIPv4(text) ? text : canonicalIpv6(text)
  return /^(127\.|0\.0\.0\.0$|::1?$)/.test(address) ? undefined : address
}

/** Shortest form of an IPv6 address in lower case (RFC 5952), except that an IPv4 address in its end becomes hexadecimal. */
export function canonicalIpv6(text: string): string {
  return new URL(`http://[${text}]/`).hostname.slice(1, -1)
}

/**
 * Hexadecimal digits of a MAC address of 6 or 8 bytes; undefined for other values, for the address of zeros only and for the broadcast
 * address.
 */
function macOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_TEXT) return undefined
  const digits = value.replaceAll(/[:.\-\s]/g, '').toLowerCase()
  return /^([0-9a-f]{12}|[0-9a-f]{16})$/.test(digits) && !/^(0+|f+)$/.test(digits) ? digits : undefined
}

/**
 * Reads the addresses in the JSON text of a system information. Devices may report any JSON, so fields of a wrong type are skipped.
 * Keeps at most `MAX_ADDRESSES`. Link-local IP addresses come last, because containers add many of them. MAC addresses of networks with
 * only such addresses come just before them.
 */
function addressesOf(text: string): DeviceAddress[] {
  if (!text.includes('"networks"')) return []
  const { networks } = record(new RawJson(text).parse())
  const found = list(networks, MAX_NETWORKS).flatMap(value => {
    const network = record(value)
    const name = nameOf(network.name)
    const mac = macOf(network.macAddress)
    const ips = list(network.ipAddresses, MAX_OF_NETWORK).flatMap(ip => ipOf(ip) ?? [])
    const isReachable = ips.some(ip => !isLinkLocal(ip))
    return [
      ...(mac === undefined ? [] : [{ address: mac, is_mac: true, rank: isReachable ? 0 : 1 }]),
      ...ips.map(address => ({ address, is_mac: false, rank: isLinkLocal(address) ? 2 : 0 })),
    ].map(row => ({ ...row, interface: name }))
  })
  const distinct = new Map<string, DeviceAddress>()
  for (const { rank: _rank, ...row } of found.toSorted((a, b) => a.rank - b.rank)) {
    if (distinct.size === MAX_ADDRESSES) break
    if (!distinct.has(row.address)) distinct.set(row.address, row)
  }
  return [...distinct.values()]
}

/** JSON text of the networks in a system information. If the text stays equal, the addresses have not changed. */
export function networksTextOf(text: string): string {
  if (!text.includes('"networks"')) return ''
  return JSON.stringify(record(JSON.parse(text)).networks) ?? ''
}

/** Rows of `device_address` as JSON text if the given property is the system information, else null. */
export function addressTextOf(name: string, text: string): string | null {
  return SYSTEM_INFO.includes(name) ? JSON.stringify(addressesOf(text)) : null
}

/**
 * Replaces the rows of `device_address` by those of a device's latest system information, or removes them when it has none. The transaction
 * must hold the lock of the device's row.
 */
export async function writeAddresses(
  tx: Tx,
  deviceId: string,
  latest: { version: number; value: RawJson } | undefined,
): Promise<void> {
  const text = JSON.stringify(latest ? addressesOf(latest.value.text) : [])
  await sql`
    delete from device_address where device_id = ${deviceId}
       and address <> all (select address from jsonb_to_recordset(${text}::jsonb) as n (address text))`.execute(
    tx,
  )
  await sql`
    insert into device_address (device_id, project_id, address, is_mac, interface)
    select d.device_id, d.project_id, n.* from device d
     cross join lateral jsonb_to_recordset(${text}::jsonb) as n (address text, is_mac boolean, interface text)
     where d.device_id = ${deviceId}
    on conflict (device_id, address) do update set interface = excluded.interface`.execute(tx)
  await tx
    .updateTable('device')
    .set({ addresses_version: latest?.version ?? null })
    .where('device_id', '=', deviceId)
    .execute()
}

/**
 * Writes missing and outdated addresses of the next `count` devices after `deviceId`, in the order of their ids. Resolves to the last
 * of these devices, or to undefined when none is left.
 */
export async function fillAddresses(db: Db, deviceId: string, count: number): Promise<string | undefined> {
  const { rows: devices } = await sql<{ device_id: string; is_outdated: boolean }>`
    select d.device_id, p.version is not null and p.version is distinct from d.addresses_version as is_outdated
      from (select device_id, addresses_version from device where device_id > ${deviceId} order by device_id limit ${count}) d
      left join lateral (
        select version from device_property p where p.device_id = d.device_id and p.name = any (${SYSTEM_INFO})
         order by last_updated desc limit 1
      ) p on true
     order by d.device_id`.execute(db)
  for (const { device_id, is_outdated } of devices)
    if (is_outdated) await db.transaction().execute(tx => refreshAddresses(tx, device_id))
  return devices.at(-1)?.device_id
}

/**
 * Writes the addresses of a device from its latest system information. Locks the property and the device, so that a concurrent change is
 * not overwritten.
 */
async function refreshAddresses(tx: Tx, deviceId: string): Promise<void> {
  const latest = await tx
    .selectFrom('device_property')
    .where('device_id', '=', deviceId)
    .where('name', 'in', SYSTEM_INFO)
    .select(['version', 'value'])
    .orderBy('last_updated', 'desc')
    .limit(1)
    .forShare()
    .executeTakeFirst()
  const device = await tx
    .selectFrom('device')
    .where('device_id', '=', deviceId)
    .select('addresses_version')
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (latest && device && device.addresses_version !== latest.version)
    await writeAddresses(tx, deviceId, latest)
}

function isLinkLocal(ip: string): boolean {
  return /^(169\.254\.|fe[89ab][0-9a-f]:)/.test(ip)
}

/** Name of an interface, without characters that PostgreSQL refuses. */
function nameOf(value: unknown): string | null {
  if (typeof value !== 'string') return null
  return value.slice(0, MAX_INTERFACE).replaceAll('\0', '').toWellFormed() || null
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function list(value: unknown, max: number): unknown[] {
  return Array.isArray(value) ? value.slice(0, max) : []
}
