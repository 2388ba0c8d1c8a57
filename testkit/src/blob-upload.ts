import { createHash } from 'node:crypto'

/** Digest of bytes in the format of the wire: `sha256_…` by default. */
export function digestOf(bytes: Uint8Array, algorithm = 'sha256'): string {
  return `${algorithm.replace('-', '_')}_${createHash(algorithm).update(bytes).digest('hex')}`
}

/** Sends bytes to an upload address, like the command line. */
export function putBytes(
  url: string,
  bytes: Uint8Array,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url, { method: 'PUT', body: bytes as Uint8Array<ArrayBuffer>, headers })
}
