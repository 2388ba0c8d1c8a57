import type { Protocol, ProxyAccess } from './proxy-tokens.ts'

/** Longest path, in characters, that is passed on to the console. */
const MAX_PATH = 2_000

/** A web server of a device, and a path on it that begins with a slash. */
export type PortTarget = { port: number; protocol: Protocol; path: string }

/**
 * URL of the console at which a person may open another port of a device, or the same one with another protocol. The link of a page opens only its
 * own port. So the person decides, and the console asks for a link with the rights and the audit event that every link has.
 */
export function openPortUrl(
  publicUrl: string,
  { organizationId, projectId, deviceId }: Pick<ProxyAccess, 'organizationId' | 'projectId' | 'deviceId'>,
  { port, protocol, path }: PortTarget,
): string {
  const search = new URLSearchParams({ port: String(port), protocol })
  // The text of a request or of a header is Latin-1, and its bytes are UTF-8.
  const text = Buffer.from(path, 'latin1').toString()
  if (text !== '/' && text.length <= MAX_PATH) search.set('path', text)
  return `${publicUrl}/${organizationId}/projects/${projectId}/devices/${deviceId}?${search}#web`
}
