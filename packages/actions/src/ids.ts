import { z } from 'zod'

/** Alphabet of the random part of every id: base-58 without `0 O I l` (docs/protocol.md 6.1). */
export const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

const B = '[1-9A-HJ-NP-Za-km-z]'
const FLAT = 22

function flat<const Prefix extends string>(prefix: Prefix, what: string, length = FLAT) {
  return z
    .string()
    .regex(
      new RegExp(`^${prefix}_${B}{${length}}$`),
      `expected ${what}: ${prefix}_ and ${length} base-58 characters`,
    )
    .brand<Prefix>()
}

function dated<const Prefix extends string>(prefix: Prefix, what: string) {
  return z
    .string()
    .regex(
      new RegExp(`^${prefix}_\\d{8}-\\d{4}-${B}{8}$`),
      `expected ${what}: ${prefix}_YYYYMMDD-HHMM- and 8 base-58 characters`,
    )
    .brand<Prefix>()
}

export const ClusterNodeId = flat('cluster_node', 'a node id')
export const UserId = flat('u', 'a user id')
export const UserTokenId = flat('u_pk', 'a user token id')
export const UserSessionId = flat('u_session_pk', 'a session id')
export const OrganizationId = flat('org', 'an organization id')
export const OrganizationInvitationId = flat('org_invite', 'an invitation id')
export const RepositoryId = flat('repo', 'a repository id')
export const RepositoryAssetId = flat('repo_a', 'an asset id')
export const PackageId = flat('pkg', 'a package id')
export const PackageVersionId = flat('pkg_v', 'a package version id')
export const ProjectId = flat('p', 'a project id')
export const DeploymentTokenId = flat('deployment_id', 'a deployment token id')
export const DeviceId = flat('d', 'a device id')
export const DeviceFingerprintId = flat('d_pk', 'a device fingerprint id')
export const DeviceCertificateId = flat('d_c', 'a certificate id')
export const BulkActionId = flat('bulk', 'an id of a bulk action')
export const DeviceConnectionId = flat('d_conn', 'a connection id')
export const DeviceEventId = dated('d_ev', 'a device event id')
export const AuditLogActionId = dated('audit_act', 'an audit action id')
export const AuditLogEventId = dated('audit_ev', 'an audit event id')
export const JobId = dated('job', 'a job id')

export const UserToken = flat('u_sk', 'a user token', 66)
export const UserSessionToken = flat('u_session_sk', 'a session token', 66)
export const DeploymentToken = flat('deployment', 'a deployment token', 66)
export const DeviceFingerprint = flat('d_sk', 'a device fingerprint', 44)

/** Prefix of each kind of secret, with the prefix of its public id (docs/protocol.md 6.3). */
const PUBLIC_PREFIX = {
  u_sk: 'u_pk',
  u_session_sk: 'u_session_pk',
  deployment: 'deployment_id',
  d_sk: 'd_pk',
} as const

/** Length of the random base-58 part for each prefix. */
const RAW_LENGTH = {
  cluster_node: FLAT,
  u: FLAT,
  org: FLAT,
  org_invite: FLAT,
  repo: FLAT,
  repo_a: FLAT,
  pkg: FLAT,
  pkg_v: FLAT,
  p: FLAT,
  d: FLAT,
  d_c: FLAT,
  d_conn: FLAT,
  bulk: FLAT,
  u_sk: 66,
  u_session_sk: 66,
  deployment: 66,
} as const

/**
 * Returns random base-58 text of `length` characters. Random bytes are masked to six bits, and values of 58 and more are drawn
 * again, so that all characters are equally likely (docs/protocol.md 6.2).
 */
export function randomBase58(length: number): string {
  let out = ''
  while (out.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length * 2 - out.length))) {
      const value = byte & 63
      if (value < 58 && out.length < length) out += BASE58[value]
    }
  }
  return out
}

/** Returns a new random id or secret with the given prefix, for example `newId('d')`. */
export function newId<const Prefix extends keyof typeof RAW_LENGTH>(
  prefix: Prefix,
): string & z.$brand<Prefix> {
  return `${prefix}_${randomBase58(RAW_LENGTH[prefix])}` as string & z.$brand<Prefix>
}

/** Returns a new dated id: `<prefix>_YYYYMMDD-HHMM-` in UTC, then eight random characters (docs/protocol.md 6.2). */
export function newDatedId<const Prefix extends 'd_ev' | 'audit_act' | 'audit_ev' | 'job'>(
  prefix: Prefix,
  at: Date = new Date(),
): string & z.$brand<Prefix> {
  const iso = at.toISOString()
  const stamp = `${iso.slice(0, 10).replaceAll('-', '')}-${iso.slice(11, 16).replace(':', '')}`
  return `${prefix}_${stamp}-${randomBase58(8)}` as string & z.$brand<Prefix>
}

/**
 * Returns the public id of a secret: the prefix of the public id and the first 22 random characters of the secret (docs/protocol.md
 * 6.3). Throws TypeError for an unknown prefix.
 */
export function publicIdOf(secret: string): string {
  const at = secret.lastIndexOf('_')
  const prefix = secret.slice(0, at) as keyof typeof PUBLIC_PREFIX
  if (!Object.hasOwn(PUBLIC_PREFIX, prefix))
    throw new TypeError(`no public id for secrets of kind "${prefix}"`)
  return `${PUBLIC_PREFIX[prefix]}_${secret.slice(at + 1, at + 1 + FLAT)}`
}

/**
 * Encodes bytes in any alphabet, as text whose length does not depend on the values of the bytes. Device fingerprints and host
 * labels use this mixed-radix scheme, which differs from ordinary base-58 (docs/protocol.md 6.4).
 */
export function encodeRadix(bytes: Uint8Array, alphabet: string): string {
  const radix = alphabet.length
  let out = ''
  const squeeze = (value: number, base: number, floor: number): [number, number] => {
    while (base >= floor) {
      out += alphabet[value % radix]
      value = Math.floor(value / radix)
      base = Math.ceil(base / radix)
    }
    return [value, base]
  }
  const walk = (from: number, to: number): [number, number] => {
    if (to <= from) return [0, 0]
    if (to - from === 1) return [bytes[from]!, 256]
    const middle = from + ((to - from) >> 1)
    const [leftValue, leftBase] = walk(from, middle)
    const [rightValue, rightBase] = walk(middle, to)
    return squeeze(leftValue + rightValue * leftBase, leftBase * rightBase, 65535)
  }
  const [value, base] = walk(0, bytes.length)
  squeeze(value, base, 2)
  return out
}
