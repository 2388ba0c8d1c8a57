/** Path at which devices and command-line clients open their WebSocket (docs/protocol.md 1). */
export const CONNECT_PATH = '/api/v1/connect/ws'

/** Header of the upgrade with which `muster-hub doctor` checks that upgrades reach the hub. Its refusal is not counted. */
export const CHECK_HEADER = 'x-muster-check'

/** Path of a request's URL, without the query. */
export function pathOf(url: string): string {
  return url.split('?', 1)[0]!
}

/** True for the health routes, which respond under every host name and even while the hub starts. */
export function isHealthPath(path: string): boolean {
  return path === '/healthz' || path === '/readyz'
}
