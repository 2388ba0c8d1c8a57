import { BlockList, isIP, isIPv4 } from 'node:net'
import { ActionError, type ParsedInput } from '@muster/actions'
import { sql } from 'kysely'
import { runBrief } from '../../../platform/database/client/brief.ts'
import type { Db } from '../../../platform/database/client/connection.ts'
import { isCancelled } from '../../../platform/database/client/errors.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime, wireTimeOf } from '../../../platform/runtime/times.ts'
import {
  type PendingGroup,
  type PendingRow,
  pendingGroups,
  pendingIds,
  pendingPage,
  pendingTotals,
  readPendingCursor,
  type TokenAddress,
  tokenAddresses,
  writePendingCursor,
} from '../pending-certificates.ts'

const DEFAULT_LIMIT = 50
/** Maximum number of addresses in the field `newAddress` of a group: addresses from which accepted certificates of the token came. */
const NAMED_ADDRESSES = 3

/**
 * Lists the pending certificates of a project, grouped by deployment token and by the IP address of their first connection. The output
 * also has facts for the decision to accept them, for example that an address is new for a token.
 */
export const projects_QueryPendingCertificates = handler(
  'projects_QueryPendingCertificates',
  async ({ db, signal }, input) => {
    const after = input.cursor === undefined ? undefined : readPendingCursor(input.cursor)
    const limit = input.limit ?? DEFAULT_LIMIT
    const { until, found, groups, addresses, ids, totals } = await listed(db, signal, input, after, limit)
    const rows = found.slice(0, limit)
    const keys = rows.map(row => row.group_key)
    return {
      certificates: rows.map(certificateOf),
      groups: groups
        .toSorted((a, b) => keys.indexOf(a.group_key) - keys.indexOf(b.group_key))
        .map(group => groupOf(group, rows.find(row => row.group_key === group.group_key)!, addresses)),
      certificateIds: ids?.map(row => row.certificate_id as never),
      seenUntil: wireTimeOf(until),
      newerCount: totals?.newer ?? null,
      total: totals?.certificates ?? null,
      deviceTotal: totals?.devices ?? null,
      nextCursor: found.length > limit ? writePendingCursor(until, rows.at(-1)!) : undefined,
    }
  },
)

type Input = ParsedInput<'projects_QueryPendingCertificates'>

type Listed = {
  until: string
  found: PendingRow[]
  groups: PendingGroup[]
  addresses: TokenAddress[]
  ids?: { certificate_id: string }[]
  totals?: { certificates: number; devices: number; newer: number }
}

/**
 * Reads a page and then the totals, within the time limit of a brief query. The totals are absent if the time is used up before they are
 * counted. Throws `Invalid` when the page itself takes longer.
 */
async function listed(
  db: Db,
  signal: AbortSignal,
  input: Input,
  after: ReturnType<typeof readPendingCursor> | undefined,
  limit: number,
): Promise<Listed> {
  let page: Listed | undefined
  try {
    return await runBrief(db, signal, async tx => {
      const until = after?.until ?? (await untilOf(tx, input.filter?.seenUntil))
      const ids = input.idsOnly ? (await pendingIds(input, until).execute(tx)).rows : undefined
      const found = input.idsOnly ? [] : (await pendingPage(input, until, limit, after).execute(tx)).rows
      const keys = [...new Set(found.slice(0, limit).map(row => row.group_key))]
      const groups = keys.length > 0 ? (await pendingGroups(input, until, keys).execute(tx)).rows : []
      const isByBoth = (input.groupBy ?? 'tokenAndAddress') === 'tokenAndAddress'
      const tokenIds = [...new Set(isByBoth ? groups.flatMap(({ token_id }) => token_id ?? []) : [])]
      const addresses = tokenIds.length > 0 ? (await tokenAddresses(tokenIds).execute(tx)).rows : []
      page = { until, found, groups, addresses, ...(ids && { ids }) }
      return { ...page, totals: (await pendingTotals(input, until).execute(tx)).rows[0]! }
    })
  } catch (error) {
    if (!isCancelled(error)) throw error
    if (page) return page
    const message = 'Listing the pending certificates took longer than 2 s: filter them.'
    throw new ActionError('Invalid', message, { status: 409, cause: error })
  }
}

/**
 * Returns the time up to which certificates must have been first seen to be listed. The default is the current time of the database,
 * which also stamps certificates.
 */
async function untilOf(db: Db, given: string | undefined): Promise<string> {
  // Times of the API have milliseconds. Certificates that were first seen within the same millisecond are listed too.
  const time = given === undefined ? sql`clock_timestamp()` : sql`${given}::timestamptz + interval '0.999 ms'`
  const { rows } = await sql<{ until: string }>`select (${time})::text as until`.execute(db)
  return rows[0]!.until
}

function certificateOf(row: PendingRow) {
  return {
    certificateId: row.certificate_id as never,
    deviceId: row.device_id as never,
    name: row.name ?? undefined,
    hostname: row.hostname ?? undefined,
    fingerprint: row.fingerprint,
    firstSeen: wireTimeOf(row.first_seen),
    tokenId: (row.token_id ?? undefined) as never,
    remoteAddress: row.remote_address ?? undefined,
    groupKey: row.group_key,
    known: row.is_known
      ? {
          isConnected: row.is_connected,
          acceptedAt: row.accepted_at === null ? undefined : wireTime(row.accepted_at),
        }
      : undefined,
    sameCertificate:
      row.owner_id === null
        ? undefined
        : {
            deviceId: row.owner_id as never,
            name: row.owner_name ?? undefined,
            hostname: row.owner_hostname ?? undefined,
          },
    sameHostname:
      row.twin_id === null ? undefined : { deviceId: row.twin_id as never, name: row.twin_name ?? undefined },
  }
}

function groupOf(group: PendingGroup, { group_is_unlike }: PendingRow, addresses: TokenAddress[]) {
  return {
    groupKey: group.group_key,
    isUnlike: group_is_unlike ? (true as const) : undefined,
    tokenId: (group.token_id ?? undefined) as never,
    tokenName: group.token_name ?? undefined,
    isTokenDeleted: group.is_token_deleted,
    remoteAddress: group.remote_address ?? undefined,
    certificateCount: group.certificates,
    deviceCount: group.devices,
    knownDeviceCount: group.known_devices,
    firstHostname: group.first_hostname ?? undefined,
    lastHostname: group.last_hostname ?? undefined,
    newAddress: newAddressOf(group, addresses),
    sameNetwork: sameNetworkOf(group, addresses),
  }
}

/**
 * Field `newAddress` of a group: a warning that the group's address is new for its token, with the addresses of the certificates that were
 * accepted so far. Undefined if a certificate with the token was already decided at this address, or if none was accepted elsewhere.
 */
function newAddressOf({ token_id, remote_address }: PendingGroup, addresses: TokenAddress[]) {
  if (token_id === null || remote_address === null) return undefined
  const ofToken = addresses.filter(one => one.token_id === token_id)
  if (ofToken.some(one => one.remote_address === remote_address)) return undefined
  const accepted = ofToken
    .filter(one => one.accepted > 0)
    .toSorted((a, b) => b.accepted - a.accepted || (a.remote_address < b.remote_address ? -1 : 1))
  if (accepted.length === 0) return undefined
  return {
    acceptedDevices: accepted.reduce((sum, one) => sum + one.accepted, 0),
    addresses: accepted.slice(0, NAMED_ADDRESSES).map(one => one.remote_address),
    addressCount: accepted.length,
  }
}

/** Field `sameNetwork` of a group. Undefined if no certificate with the token was accepted yet. */
function sameNetworkOf({ token_id, remote_address }: PendingGroup, addresses: TokenAddress[]) {
  if (token_id === null || remote_address === null || isIP(remote_address) === 0) return undefined
  const accepted = addresses.filter(one => one.token_id === token_id && one.accepted > 0)
  if (accepted.length === 0) return undefined
  const [family, bits] = isIPv4(remote_address) ? (['ipv4', 24] as const) : (['ipv6', 64] as const)
  const network = new BlockList()
  network.addSubnet(remote_address, bits, family)
  const near = accepted.filter(
    one =>
      isIP(one.remote_address) !== 0 &&
      isIPv4(one.remote_address) === isIPv4(remote_address) &&
      network.check(one.remote_address, family),
  )
  const count = (some: TokenAddress[]) => some.reduce((sum, one) => sum + one.accepted, 0)
  return {
    network: family === 'ipv4' ? remote_address.replace(/\d+$/, '0/24') : `${remote_address}/64`,
    acceptedDevices: count(near),
    ofDevices: count(accepted),
  }
}
