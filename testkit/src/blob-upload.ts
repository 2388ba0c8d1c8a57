import { createHash } from 'node:crypto'

/** Digest of bytes in the wire format: `sha256_…` by default. */
export function digestOf(bytes: Uint8Array, algorithm = 'sha256'): string {
  return `${algorithm.replace('-', '_')}_${createHash(algorithm).update(bytes).digest('hex')}`
}

/** Uploads bytes to an upload URL, like the command-line client. */
export function putBytes(
  url: string,
  bytes: Uint8Array,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url, { method: 'PUT', body: bytes as Uint8Array<ArrayBuffer>, headers })
}
