import type { IncomingMessage } from 'node:http'
import { Unreachable } from './pages.ts'
import { type Place, reachable, reachableName, reachableRefresh } from './redirects.ts'

/** Headers that concern one connection and not the message (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/**
 * Headers that are always forwarded, even if `Connection` lists them. Without them the receiver would find a different end of the
 * body, or the message would lose its credentials.
 */
const END_TO_END = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'host',
  'origin',
  'set-cookie',
])
/**
 * Headers about the original client. The hub removes them from requests, because clients could forge them, and adds
 * `X-Forwarded-Proto` and `X-Forwarded-Host` of its own.
 */
const FORWARDED = /^(forwarded|x-forwarded-.*|x-real-ip|x-client-cert|x-muster-.*)$/
/** Headers by which a server controls a proxy in front of it. Devices must not control the operator's proxy. */
const DIRECTIONS =
  /^(x-accel-(?!buffering$).*|x-sendfile|x-lighttpd-send-file|surrogate-control|cdn-cache-control)$/
/** The hub's own cookies. Browsers send them to a device's host too if their cookie domain includes that host. */
export const OWN_COOKIE = /^(__(host|secure)-)?muster/i

/** Name-value pairs of Node's `rawHeaders`. Repeated headers stay separate. */
function pairsOf(raw: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at]!, raw[2 * at + 1]!])
}

/** Header names that the message's `Connection` header lists. */
function connectionNames(message: IncomingMessage): string[] {
  return (message.headers.connection ?? '').toLowerCase().split(/[\s,]+/)
}

function droppedOf(message: IncomingMessage): Set<string> {
  return new Set([...HOP_BY_HOP, ...connectionNames(message).filter(name => !END_TO_END.has(name))])
}

/**
 * Whether a request has a body. Throws `Unreachable` when the device could find a different end of the body than the hub (request
 * smuggling).
 */
export function hasBody(request: IncomingMessage, isUpgrade: boolean): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  const has = encoding !== undefined || (length !== undefined && length !== '0')
  const isClear =
    (encoding === undefined || encoding.toLowerCase() === 'chunked') &&
    // The hub forwards all bytes after an upgrade request as data of the new protocol, so there must be no body.
    !(has && isUpgrade) &&
    !connectionNames(request).some(name => END_TO_END.has(name))
  if (!isClear) throw new Unreachable('unclear')
  return has
}

/** The headers of a browser's request as the hub sends them to the device. */
export function requestHeaders(request: IncomingMessage, isSecure: boolean, isUpgrade: boolean): string[] {
  const dropped = droppedOf(request)
  const kept = pairsOf(request.rawHeaders).flatMap(([name, value]): string[] => {
    const lower = name.toLowerCase()
    if (dropped.has(lower) || FORWARDED.test(lower)) return []
    if (lower !== 'cookie') return [name, value]
    // Cookies without a name are valid, so pairs without `=` are passed on to the device.
    const others = value.split(/;\s*/).filter(pair => pair !== '' && !OWN_COOKIE.test(pair))
    return others.length > 0 ? [name, others.join('; ')] : []
  })
  // `Transfer-Encoding` is a hop-by-hop header and was removed. A body of unknown length is chunked again on the connection to the
  // device.
  if (request.headers['transfer-encoding'] !== undefined) kept.push('Transfer-Encoding', 'chunked')
  // Without a length, Node would announce a chunked body for methods that are not safe. A length of 0 states that there is no body.
  else if (request.headers['content-length'] === undefined && !isSafe(request))
    kept.push('Content-Length', '0')
  kept.push('X-Forwarded-Proto', isSecure ? 'https' : 'http', 'X-Forwarded-Host', request.headers.host!)
  if (isUpgrade) kept.push('Connection', 'Upgrade', 'Upgrade', request.headers.upgrade!)
  return kept
}

/** True if the method of a request is safe (RFC 9110, 9.2.1), so that the request may be sent twice. */
export function isSafe({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

/** The headers of a device's response without its hop-by-hop headers. Cookies and redirects are limited to the device's own host. */
export function responseHeaders(answer: IncomingMessage, isUpgrade: boolean, place: Place): string[] {
  const dropped = droppedOf(answer)
  const kept = pairsOf(answer.rawHeaders).flatMap(([name, value]): string[] => {
    const lower = name.toLowerCase()
    if (dropped.has(lower) || DIRECTIONS.test(lower)) return []
    // `Clear-Site-Data` would clear the cookies of every host below the registrable domain of the device's page, perhaps of the
    // console's host.
    if (lower === 'clear-site-data') return []
    if (lower === 'set-cookie') return [name, value.replace(/;\s*domain\s*(=[^;]*)?(?=;|$)/gi, '')]
    if (lower === 'location') return [name, reachable(value, place)]
    if (lower === 'content-location') return [name, reachableName(value, place)]
    if (lower === 'refresh') return [name, reachableRefresh(value, place)]
    return [name, value]
  })
  if (isUpgrade) kept.push('Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade ?? 'websocket')
  return kept
}

/** The values of the headers of a device's response that lead to another address. */
export function redirectsOf({ headers }: IncomingMessage): string[] {
  return [headers.location, headers['content-location'], headers.refresh].flatMap(value => value ?? [])
}

/** The head of a response for a raw socket without an HTTP server, in Latin-1. */
export function headText(answer: IncomingMessage, isUpgrade: boolean, place: Place): string {
  const pairs = pairsOf(responseHeaders(answer, isUpgrade, place))
  const lines = pairs.map(([name, value]) => `${name}: ${value}\r\n`)
  const rest = isUpgrade ? '' : 'connection: close\r\n'
  return `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n${lines.join('')}${rest}\r\n`
}

/** Name-value pairs in a `Cookie` header. */
export function cookiesOf(header: string): [name: string, value: string][] {
  return header.split(/;\s*/).flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=')
    return at > 0 ? [[pair.slice(0, at), pair.slice(at + 1)]] : []
  })
}
