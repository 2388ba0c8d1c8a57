import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import type { ActionError } from '@muster/actions'
import type { Config } from '../config/config.ts'

/** Time for which browsers use only HTTPS for the hub after an HTTPS response, in seconds: one year. */
const HTTPS_ONLY_SECS = 365 * 24 * 60 * 60

/** Browser features that the hub's pages never use. Switching them off limits what an injected script can do. */
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
 * Security headers of every response: no scripts, no framing, no MIME sniffing, no `Referer`, no sharing with other origins. Pages
 * replace the Content-Security-Policy by one that allows their own scripts. CORS headers are missing on purpose: no other origin
 * may read responses.
 */
export function securityHeaders({
  publicUrl,
  hstsSubdomains,
}: Pick<Config, 'publicUrl' | 'hstsSubdomains'>): Record<string, string> {
  return {
    'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    // Mailed links carry a JWT in their query, which `Referer` would pass on to other sites.
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': UNUSED_FEATURES.map(feature => `${feature}=()`).join(', '),
    ...(publicUrl.startsWith('https:') && {
      'strict-transport-security': `max-age=${HTTPS_ONLY_SECS}${hstsSubdomains ? '; includeSubDomains' : ''}`,
    }),
  }
}

/**
 * Makes a response class that sets headers at construction, so that the responses of routes, of hijacked streams and of Node
 * itself have the headers.
 */
export function responseWith(headers: Record<string, string>): typeof ServerResponse {
  const all = Object.entries(headers)
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    // Node passes more arguments than its types declare; all are passed on.
    constructor(...given: [Request]) {
      super(...given)
      for (const [name, value] of all) this.setHeader(name, value)
    }
  }
}

/**
 * Formats an error as the text of an HTTP response, for sockets without a response object. The response has `Connection: close`.
 */
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
