import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { InstanceKey } from '../../platform/credentials/instance-key.ts'

/** Path of the upgrade request that opens a link to another node. */
export const NODE_LINK_PATH = '/api/v1/node-link'
/** Deadline for each step of opening a link, in milliseconds; also how long a challenge is valid. */
export const HANDSHAKE_MS = 5_000
/** Longest proof message: two proofs of 43 characters and a comma. */
export const MAX_PROOF_CHARACTERS = 87

/** Node id, random number and expiry of one side of a handshake. Each side checks the expiry of its own challenge, by its own clock. */
export type Challenge = { nodeId: string; nonce: string; expiresAtMs: number }

/** The facts that both sides prove to know together with the instance key (docs/node-links.md). */
export type Handshake = {
  /** The node that opens the link. */
  client: Challenge
  /** The node that accepts the link. */
  server: Challenge
  /** Ties the proofs to one TLS session, as `bindingOf` returns it. */
  binding: string
}

const CHALLENGE = {
  nodeId: /^cluster_node_[1-9A-HJ-NP-Za-km-z]{22}$/,
  nonce: /^[\w-]{43}$/,
  expires: /^\d{13}$/,
}

/** Creates this node's challenge for one handshake. */
export function newChallenge(nodeId: string): Challenge {
  return { nodeId, nonce: randomBytes(32).toString('base64url'), expiresAtMs: Date.now() + HANDSHAKE_MS }
}

/** Headers that carry a challenge. */
export function challengeHeaders({ nodeId, nonce, expiresAtMs }: Challenge): Record<string, string> {
  return { 'X-Muster-Node': nodeId, 'X-Muster-Nonce': nonce, 'X-Muster-Expires': String(expiresAtMs) }
}

/** Reads the challenge of the other side from its headers; undefined when it is absent or malformed. */
export function readChallenge(headers: IncomingHttpHeaders): Challenge | undefined {
  const { 'x-muster-node': nodeId, 'x-muster-nonce': nonce, 'x-muster-expires': expires } = headers
  const isValid =
    CHALLENGE.nodeId.test(String(nodeId)) &&
    CHALLENGE.nonce.test(String(nonce)) &&
    CHALLENGE.expires.test(String(expires))
  return isValid ? { nodeId: String(nodeId), nonce: String(nonce), expiresAtMs: Number(expires) } : undefined
}

/**
 * Value that only the two ends of a TLS session know (RFC 9266, exported keying material). A man in the middle has a session with each
 * side, and the values of the two sessions differ. A link without TLS has the value `plaintext`.
 */
export function bindingOf(socket: Duplex): string {
  if (!(socket instanceof TLSSocket)) return 'plaintext'
  const exported = socket.exportKeyingMaterial(32, 'EXPORTER-muster-node-link', Buffer.alloc(0))
  return `tls ${exported.toString('hex')}`
}

/** Keys with which nodes authenticate to each other, derived from the current and the previous instance key. */
export function nodeLinkKeys(current: InstanceKey, previous: InstanceKey | undefined): Buffer[] {
  return [current, previous].flatMap(key => (key === undefined ? [] : [key('node link')]))
}

/**
 * Proofs that this side knows the instance key, one for each key. During a change of the key the other side may know only one of them.
 * A proof covers `role`, the side that sends it, so that the receiver cannot return it as its own proof.
 */
export function proofsOf(keys: readonly Buffer[], role: 'client' | 'server', handshake: Handshake): string[] {
  const { client, server, binding } = handshake
  const text = [
    'muster node link 1',
    role,
    ...[client, server].flatMap(({ nodeId, nonce, expiresAtMs }) => [nodeId, nonce, expiresAtMs]),
    binding,
  ].join('\n')
  return keys.map(key => createHmac('sha256', key).update(text).digest('base64url'))
}

/** True when one of the other side's comma-separated proofs was made with one of the keys. Compares in constant time. */
export function isProven(
  keys: readonly Buffer[],
  role: 'client' | 'server',
  handshake: Handshake,
  proofs: string,
): boolean {
  const expected = proofsOf(keys, role, handshake).map(proof => Buffer.from(proof))
  const found = proofs.split(',').map(proof => Buffer.from(proof))
  return expected.some(one => found.some(other => one.length === other.length && timingSafeEqual(one, other)))
}
