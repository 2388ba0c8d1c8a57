import { createHash } from 'node:crypto'

/** A digest of bytes as it is written on the wire: `sha256_…` unless told otherwise. */
export function digestOf(bytes: Uint8Array, algorithm = 'sha256'): string {
  return `${algorithm.replace('-', '_')}_${createHash(algorithm).update(bytes).digest('hex')}`
}

/** Sends bytes to an upload address, as command lines do. */
export function putBytes(
  url: string,
  bytes: Uint8Array,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url, { method: 'PUT', body: bytes as Uint8Array<ArrayBuffer>, headers })
}
