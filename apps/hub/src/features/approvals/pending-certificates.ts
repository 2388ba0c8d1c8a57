import { ActionError, MAX_BULK_ITEMS, type ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { matchesText } from '../../platform/database/client/page.ts'

type Input = ParsedInput<'projects_QueryPendingCertificates'>
type PendingGrouping = NonNullable<Input['groupBy']>

/** A pending certificate with facts about its device. Times are texts with microseconds, which a cursor needs. */
export type PendingRow = {
  certificate_id: string
  device_id: string
  name: string | null
  hostname: string | null
  fingerprint: string
  first_seen: string
  token_id: string | null
  remote_address: string | null
  group_key: string
  group_seen: string
  group_is_unlike: boolean
  is_known: boolean
  is_connected: boolean
  accepted_at: Date | null
  twin_id: string | null
  twin_name: string | null
  owner_id: string | null
  owner_name: string | null
  owner_hostname: string | null
}

export type PendingGroup = {
  group_key: string
  token_id: string | null
  token_name: string | null
  is_token_deleted: boolean
  remote_address: string | null
  certificates: number
  devices: number
  known_devices: number
  first_hostname: string | null
  last_hostname: string | null
}

/** Content of a cursor: the position after which the next page begins, and `until`, the time up to which all pages list certificates. */
type Place = {
  until: string
  isUnlike: boolean
  groupSeen: string
  groupKey: string
  firstSeen: string
  id: string
}

const GROUP_KEY: Record<PendingGrouping, RawBuilder<string>> = {
  tokenAndAddress: sql`coalesce(c.token_id, '-') || ' ' || coalesce(c.remote_address, '-')`,
  token: sql`coalesce(c.token_id, '-')`,
  address: sql`coalesce(c.remote_address, '-')`,
  nothing: sql`'all'::text`,
}

/** Whether the device has another certificate, which was accepted, rejected or revoked. */
const IS_KNOWN = sql<boolean>`exists (
  select from device_certificate o where o.device_id = p.device_id and o.status <> 'Pending')`

/**
 * Whether a certificate is unlike those of a usual batch: its device has another one, another device has it, or its address is new for a
 * token whose certificates were accepted from other addresses.
 */
function isUnlike(projectId: string): RawBuilder<boolean> {
  return sql`(${IS_KNOWN}
    or exists (
      select from device_certificate o join device d using (device_id)
       where o.fingerprint = p.fingerprint and o.status = 'Active' and o.device_id <> p.device_id and d.project_id = ${projectId})
    or p.remote_address is not null
      and exists (select from device_certificate o where o.token_id = p.token_id and o.status = 'Active' and o.remote_address is not null)
      and not exists (
        select from device_certificate o
         where o.token_id = p.token_id and o.remote_address = p.remote_address and o.status <> 'Pending'))`
}

/** Subquery for the pending certificates that match the filter. It starts from the few devices with a pending one, which an index finds. */
function matches({ projectId, groupBy = 'tokenAndAddress', filter }: Input): RawBuilder<unknown> {
  const { groupKey, text } = filter ?? {}
  const ofGroup = groupKey === undefined ? sql`true` : sql`${GROUP_KEY[groupBy]} = ${groupKey}`
  const hasText = matchesText(
    text,
    sql`d.search_text`,
    sql`coalesce(t.name, '')`,
    sql`coalesce(c.token_id, '')`,
    sql`coalesce(c.remote_address, '')`,
    sql`c.fingerprint`,
  )
  return sql`(
    select c.certificate_id, c.device_id, d.name, nullif(d.hostname, '') as hostname, c.fingerprint, c.first_seen, c.token_id,
           c.remote_address, t.name as token_name, c.token_id is not null and t.token_id is null as is_token_deleted,
           d.is_connected, ${GROUP_KEY[groupBy]} as group_key
      from device d
      join device_certificate c on c.device_id = d.device_id and c.status = 'Pending'
      left join deployment_token t on t.token_id = c.token_id
     where d.project_id = ${projectId} and d.pending_certificates > 0 and ${ofGroup} and ${hasText})`
}

/**
 * A page of up to `limit` + 1 certificates that were first seen up to the given time. Groups with a certificate unlike the others come first,
 * then the newest group, and in each group the newest certificate.
 */
export function pendingPage(
  input: Input,
  until: string,
  limit: number,
  after: Place | undefined,
): RawBuilder<PendingRow> {
  const follows = after
    ? sql`group_is_unlike < ${after.isUnlike} or group_is_unlike = ${after.isUnlike} and (
        (group_seen, ${after.groupKey}) < (${after.groupSeen}::timestamptz, group_key)
        or (group_seen = ${after.groupSeen}::timestamptz and group_key = ${after.groupKey}
          and (first_seen, ${after.id}) < (${after.firstSeen}::timestamptz, certificate_id)))`
    : sql`true`
  return sql<PendingRow>`
    select p.certificate_id, p.device_id, p.name, p.hostname, p.fingerprint, p.first_seen::text as first_seen, p.token_id,
           p.remote_address, p.group_key, p.group_seen::text as group_seen, p.group_is_unlike, p.is_connected, ${IS_KNOWN} as is_known,
           (select max(h.changed_at) from device_certificate o
              join device_certificate_change h on h.device_id = o.device_id and h.certificate_id = o.certificate_id
             where o.device_id = p.device_id and o.status = 'Active' and h.status = 'Active') as accepted_at,
           twin.device_id as twin_id, twin.name as twin_name,
           owner.device_id as owner_id, owner.name as owner_name, nullif(owner.hostname, '') as owner_hostname
      from (
        select * from (
          select p.*, max(p.first_seen) over (partition by p.group_key) as group_seen,
                 bool_or(${isUnlike(input.projectId)}) over (partition by p.group_key) as group_is_unlike
            from ${matches(input)} p
           where p.first_seen <= ${until}::timestamptz
        ) grouped where ${follows}
         order by group_is_unlike desc, group_seen desc, group_key, first_seen desc, certificate_id limit ${limit + 1}
      ) p
      left join lateral (
        select o.device_id, o.name from device o
         where o.project_id = ${input.projectId} and o.device_id <> p.device_id
           and lower(o.hostname) collate "C" = lower(p.hostname) collate "C"
         order by o.device_id limit 1
      ) twin on p.hostname is not null
      left join lateral (
        select o.device_id, o.name, o.hostname from device_certificate c join device o using (device_id)
         where c.fingerprint = p.fingerprint and c.status = 'Active' and c.device_id <> p.device_id
           and o.project_id = ${input.projectId}
         limit 1
      ) owner on true
     order by p.group_is_unlike desc, p.group_seen desc, p.group_key, p.first_seen desc, p.certificate_id`
}

/** Query for the groups with the given keys. */
export function pendingGroups(input: Input, until: string, keys: string[]): RawBuilder<PendingGroup> {
  const { groupBy = 'tokenAndAddress' } = input
  const hasToken = groupBy === 'tokenAndAddress' || groupBy === 'token'
  const hasAddress = groupBy === 'tokenAndAddress' || groupBy === 'address'
  return sql<PendingGroup>`
    select p.group_key, ${hasToken ? sql`max(p.token_id)` : sql`null`} as token_id,
           ${hasToken ? sql`max(p.token_name)` : sql`null`} as token_name,
           ${hasToken ? sql`bool_or(p.is_token_deleted)` : sql`false`} as is_token_deleted,
           ${hasAddress ? sql`max(p.remote_address)` : sql`null`} as remote_address,
           count(*) as certificates, count(distinct p.device_id) as devices,
           count(distinct p.device_id) filter (where ${IS_KNOWN}) as known_devices,
           min(p.hostname) as first_hostname, max(p.hostname) as last_hostname
      from ${matches(input)} p
     where p.first_seen <= ${until}::timestamptz and p.group_key = any (${keys})
     group by p.group_key`
}

/** Numbers of certificates and devices that were first seen up to the given time, and of certificates that were first seen later. */
export type PendingTotals = { certificates: number; devices: number; newer: number }

/** Query that returns the `PendingTotals` as one row. */
export function pendingTotals(input: Input, until: string): RawBuilder<PendingTotals> {
  return sql<PendingTotals>`
    select count(*) filter (where not is_newer) as certificates,
           count(distinct device_id) filter (where not is_newer) as devices, count(*) filter (where is_newer) as newer
      from (select device_id, first_seen > ${until}::timestamptz as is_newer from ${matches(input)} matches) all_matches`
}

/** Ids of all matches, the newest first, at most as many as a bulk action takes. */
export function pendingIds(input: Input, until: string): RawBuilder<{ certificate_id: string }> {
  return sql<{ certificate_id: string }>`
    select certificate_id from ${matches(input)} matches where first_seen <= ${until}::timestamptz
     order by first_seen desc, certificate_id limit ${MAX_BULK_ITEMS}`
}

/** Numbers of accepted and of decided (accepted, rejected or revoked) certificates of a token that were first seen at an IP address. */
export type TokenAddress = { token_id: string; remote_address: string; accepted: number; decided: number }

/** Counts the decided certificates of tokens by address. Reads the index `device_certificate_by_token` only. */
export function tokenAddresses(tokenIds: string[]): RawBuilder<TokenAddress> {
  return sql<TokenAddress>`
    select token_id, remote_address, count(*) filter (where status = 'Active') as accepted, count(*) as decided
      from device_certificate
     where token_id = any (${tokenIds}) and remote_address is not null and status <> 'Pending'
     group by token_id, remote_address`
}

/** Encodes the last row of a page as a cursor. */
export function writePendingCursor(until: string, row: PendingRow): string {
  const parts = [
    until,
    row.group_is_unlike ? 'unlike' : 'usual',
    row.group_seen,
    row.group_key,
    row.first_seen,
    row.certificate_id,
  ]
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

type Parts = [until: string, kind: string, groupSeen: string, groupKey: string, firstSeen: string, id: string]

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$/

/** Decodes a cursor. Throws `Invalid` for a cursor of another list. */
export function readPendingCursor(cursor: string): Place {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(parts) && parts.length === 6 && parts.every(part => typeof part === 'string')) {
      const [until, kind, groupSeen, groupKey, firstSeen, id] = parts as Parts
      const areTimes = [until, groupSeen, firstSeen].every(time => TIME.test(time))
      if (areTimes && !groupKey.includes('\0') && !id.includes('\0'))
        return { until, isUnlike: kind === 'unlike', groupSeen, groupKey, firstSeen, id }
    }
  } catch {
    // A malformed cursor is refused below.
  }
  throw new ActionError('Invalid', 'The cursor is not one of this list: start again without it.', {
    status: 409,
  })
}
