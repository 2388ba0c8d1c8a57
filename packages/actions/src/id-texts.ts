// Ids as plain text, without the schema library, which takes time and memory of command-line clients and devices.
import type { z } from 'zod'

/** Alphabet of the random part of every id: base-58 without `0 O I l` (docs/protocol.md 6.1). */
export const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** A character of `BASE58`, as part of a regular expression. */
export const BASE58_CHARACTER = '[1-9A-HJ-NP-Za-km-z]'
/** Length of the random part of an id that is neither dated nor a secret. */
export const FLAT_LENGTH = 22
/** Length of the random part of a token. */
export const SECRET_LENGTH = 66

/** Form of an id with this prefix and this length of its random part. */
export function flatText(prefix: string, length: number): RegExp {
  return new RegExp(`^${prefix}_${BASE58_CHARACTER}{${length}}$`)
}

/** True for a text with the form of a deployment token. */
export function isDeploymentToken(text: string): boolean {
  return flatText('deployment', SECRET_LENGTH).test(text)
}

/** Prefix of each kind of secret, with the prefix of its public id (docs/protocol.md 6.3). */
const PUBLIC_PREFIX = {
  u_sk: 'u_pk',
  u_session_sk: 'u_session_pk',
  deployment: 'deployment_id',
  d_sk: 'd_pk',
} as const

/** Length of the random base-58 part for each prefix. */
const RAW_LENGTH = {
  cluster_node: FLAT_LENGTH,
  u: FLAT_LENGTH,
  org: FLAT_LENGTH,
  org_invite: FLAT_LENGTH,
  repo: FLAT_LENGTH,
  repo_a: FLAT_LENGTH,
  pkg: FLAT_LENGTH,
  pkg_v: FLAT_LENGTH,
  p: FLAT_LENGTH,
  d: FLAT_LENGTH,
  d_c: FLAT_LENGTH,
  d_conn: FLAT_LENGTH,
  d_block: FLAT_LENGTH,
  d_op: FLAT_LENGTH,
  d_op_claim: FLAT_LENGTH,
  bulk: FLAT_LENGTH,
  view: FLAT_LENGTH,
  wh: FLAT_LENGTH,
  u_sk: SECRET_LENGTH,
  u_session_sk: SECRET_LENGTH,
  deployment: SECRET_LENGTH,
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
export function newDatedId<const Prefix extends 'd_ev' | 'audit_act' | 'audit_ev' | 'msg' | 'job'>(
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
  return `${PUBLIC_PREFIX[prefix]}_${secret.slice(at + 1, at + 1 + FLAT_LENGTH)}`
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
