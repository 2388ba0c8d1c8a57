/** Path at which devices and command-line clients open their WebSocket (docs/protocol.md 1). */
export const CONNECT_PATH = '/api/v1/connect/ws'

/** Path of a request's URL, without the query. */
export function pathOf(url: string): string {
  return url.split('?', 1)[0]!
}

/** True for the health routes, which respond under every host name and even while the hub starts. */
export function isHealthPath(path: string): boolean {
  return path === '/healthz' || path === '/readyz'
}
