import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { Unreachable } from './pages.ts'

/** Headers that are about one connection and not about the message (RFC 9110, 7.6.1). */
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
/** Headers that are about the message, whatever its sender says: without them it would end elsewhere or be somebody else's. */
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
/** Headers that say who asked and how; the hub says it itself. */
const FORWARDED = /^(forwarded|x-forwarded-.*|x-real-ip|x-client-cert|x-muster-.*)$/
/** Headers by which a server tells a proxy in front what to send or keep: that one is the operator's and not the device's to direct. */
const DIRECTIONS =
  /^(x-accel-(?!buffering$).*|x-sendfile|x-lighttpd-send-file|surrogate-control|cdn-cache-control)$/
/** Text that may stand in a head, bytes above ASCII included. */
const HEAD_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/
/** An address with a host, as redirects have it. */
const ADDRESS = /^https?:\/\/([^/?#:@]+)(:\d*)?(?=[/?#]|$)/i

/** The device's own host as browsers know it: its name, and the whole beginning of its addresses. */
type Place = { host: string; origin: string }

/** Pairs of names and values, as Node's `rawHeaders` are read: repeated ones stay as many. */
function pairsOf(raw: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at]!, raw[2 * at + 1]!])
}

/** Names that a message declares to be about its connection only. */
function connectionNames(message: IncomingMessage): string[] {
  return (message.headers.connection ?? '').toLowerCase().split(/[\s,]+/)
}

function droppedOf(message: IncomingMessage): Set<string> {
  return new Set([...HOP_BY_HOP, ...connectionNames(message).filter(name => !END_TO_END.has(name))])
}

/** Whether a request has a body. Throws `Unreachable` when the device might read its end elsewhere than the hub does. */
export function hasBody(request: IncomingMessage, isUpgrade: boolean): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  const has = encoding !== undefined || (length !== undefined && length !== '0')
  const isClear =
    (encoding === undefined || encoding.toLowerCase() === 'chunked') &&
    // What follows an upgrade is passed on as it comes.
    !(has && isUpgrade) &&
    !connectionNames(request).some(name => END_TO_END.has(name))
  if (!isClear) throw new Unreachable('unclear')
  return has
}

/** Headers of a browser's request as the device gets them. */
export function requestHeaders(
  request: IncomingMessage,
  cookieName: string,
  isSecure: boolean,
  isUpgrade: boolean,
): string[] {
  const dropped = droppedOf(request)
  const kept = pairsOf(request.rawHeaders).flatMap(([name, value]): string[] => {
    const lower = name.toLowerCase()
    if (dropped.has(lower) || FORWARDED.test(lower)) return []
    if (lower !== 'cookie') return [name, value]
    // Cookies without a name are in order, and the device's own affair.
    const others = value.split(/;\s*/).filter(pair => pair !== '' && !pair.startsWith(`${cookieName}=`))
    return others.length > 0 ? [name, others.join('; ')] : []
  })
  // A body of unknown length comes in chunks; its length or chunks are this leg's own affair.
  if (request.headers['transfer-encoding'] !== undefined) kept.push('Transfer-Encoding', 'chunked')
  // Where a body is usual, the device is told that there is none; Node would announce chunks.
  else if (request.headers['content-length'] === undefined && !isSafe(request))
    kept.push('Content-Length', '0')
  kept.push('X-Forwarded-Proto', isSecure ? 'https' : 'http', 'X-Forwarded-Host', request.headers.host!)
  if (isUpgrade) kept.push('Connection', 'Upgrade', 'Upgrade', request.headers.upgrade!)
  return kept
}

/** Whether a request changes nothing, so that asking twice is like asking once. */
export function isSafe({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

/** Headers of a device's answer, without those of its connection, and with cookies and redirects for its own host alone. */
export function responseHeaders(answer: IncomingMessage, isUpgrade: boolean, place: Place): string[] {
  const dropped = droppedOf(answer)
  const kept = pairsOf(answer.rawHeaders).flatMap(([name, value]): string[] => {
    const lower = name.toLowerCase()
    if (dropped.has(lower) || DIRECTIONS.test(lower)) return []
    // Where both are told, the length is not the one by which the body was read.
    if (lower === 'content-length' && answer.headers['transfer-encoding'] !== undefined) return []
    // It would clear the cookies of every host below the same registrable domain, the console's perhaps among them.
    if (lower === 'clear-site-data') return []
    if (lower === 'set-cookie') return [name, value.replace(/;\s*domain\s*(=[^;]*)?(?=;|$)/gi, '')]
    if (lower === 'location' || lower === 'content-location') return [name, reachable(value, place)]
    return [name, value]
  })
  if (isUpgrade) kept.push('Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade ?? 'websocket')
  return kept
}

/** An address on the device's own host, which it makes with its own scheme and port, as browsers reach it; others as they are. */
function reachable(address: string, { host, origin }: Place): string {
  const [start, named] = ADDRESS.exec(address) ?? []
  return named?.toLowerCase() === host ? origin + address.slice(start!.length) : address
}

/** What a device says beside its status, or the usual words when that is no text. */
export function reasonOf({ statusCode, statusMessage = '' }: IncomingMessage): string {
  return HEAD_TEXT.test(statusMessage) ? statusMessage : (STATUS_CODES[statusCode!] ?? '')
}

/** The head of an answer for a socket that has no HTTP server any more; in Latin-1, as heads are. */
export function headText(answer: IncomingMessage, isUpgrade: boolean, place: Place): string {
  const pairs = pairsOf(responseHeaders(answer, isUpgrade, place))
  const lines = pairs.map(([name, value]) => `${name}: ${value}\r\n`)
  const rest = isUpgrade ? '' : 'connection: close\r\n'
  return `HTTP/1.1 ${answer.statusCode} ${reasonOf(answer)}\r\n${lines.join('')}${rest}\r\n`
}

export function cookiesOf(header: string): [name: string, value: string][] {
  return header.split(/;\s*/).flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=')
    return at > 0 ? [[pair.slice(0, at), pair.slice(at + 1)]] : []
  })
}
