import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import type { ActionError } from '@muster/actions'
import type { Config } from '../config.ts'

/** How long browsers insist on HTTPS after they saw the hub under it, in seconds: a year. */
const HTTPS_ONLY_SECS = 365 * 24 * 60 * 60

/** What the hub's pages never use, so that nothing that gets into them can. */
const UNUSED_FEATURES = [
  'accelerometer',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'usb',
]

/**
 * What every answer of the hub tells browsers (goals S19): run nothing, frame nothing, guess no types, tell nobody where one
 * comes from, share with no other origin. Pages replace the policy by one for their own scripts. There are no CORS headers on
 * purpose: no other origin may read anything.
 */
export function securityHeaders({ publicUrl }: Pick<Config, 'publicUrl'>): Record<string, string> {
  return {
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    // Mailed links carry a JWT in their query, which must not travel on in a `Referer`.
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': UNUSED_FEATURES.map(feature => `${feature}=()`).join(', '),
    ...(publicUrl.startsWith('https:') && { 'strict-transport-security': `max-age=${HTTPS_ONLY_SECS}` }),
  }
}

/** An answer that has these headers from the start, whoever writes it: routes, streams that left Fastify, and Node itself. */
export function responseWith(headers: Record<string, string>): typeof ServerResponse {
  const all = Object.entries(headers)
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    // Node gives more than its types say, all of which goes on.
    constructor(...given: [Request]) {
      super(...given)
      for (const [name, value] of all) this.setHeader(name, value)
    }
  }
}

/** The text of an answer to a bare socket, for what is refused where there is no response yet; the connection ends with it. */
export function bareAnswer(
  headers: Record<string, string>,
  { status, kind, message, retryAfterSecs }: ActionError,
): string {
  const body = JSON.stringify({ kind, message })
  const all = {
    connection: 'close',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
    ...(retryAfterSecs !== undefined && { 'retry-after': String(retryAfterSecs) }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}\r\n${lines.join('')}\r\n${body}`
}
