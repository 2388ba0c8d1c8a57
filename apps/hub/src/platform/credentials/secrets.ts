import { hash as hashOf, timingSafeEqual } from 'node:crypto'

/** Returns the hash that is stored in place of a secret. Secrets are long and random, so one round of SHA-256 is enough. */
export function hashSecret(secret: string): Buffer {
  return hashOf('sha256', secret, 'buffer')
}

/** Compares a secret with its stored hash in constant time. */
export function matchesSecret(secret: string, hash: Buffer): boolean {
  return timingSafeEqual(hashSecret(secret), hash)
}
