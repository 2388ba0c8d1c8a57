import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Config } from '../config/config.ts'
import type { TraceParent } from '../runtime/tracer.ts'
import { familyOf, networkList } from './networks.ts'

type ProxyConfig = Pick<Config, 'trustedProxies' | 'proxySecret'>

/**
 * Creates the check whether a request comes from a trusted proxy with the right secret. Only such a proxy may pass on the certificate or
 * the IP address of its client (docs/decisions.md, "Certificates").
 */
export function trustedProxy(config: ProxyConfig): (request: IncomingMessage) => boolean {
  const proxies = networkList(config.trustedProxies)
  const secret = Buffer.from(config.proxySecret ?? '')
  return request => {
    const sentSecret = Buffer.from(String(request.headers['x-muster-proxy-secret'] ?? ''))
    if (secret.length === 0 || sentSecret.length !== secret.length || !timingSafeEqual(sentSecret, secret))
      return false
    const address = remoteAddress(request)
    return proxies.check(address, familyOf(address))
  }
}

/**
 * Creates the function that reads the client IP for the log and for limits: the last address in `X-Forwarded-For` of a trusted
 * proxy, else the address of the peer.
 */
export function remoteReader(config: ProxyConfig): (request: IncomingMessage) => string {
  const isProxy = trustedProxy(config)
  return request => {
    const forwarded = String(request.headers['x-forwarded-for'] ?? '')
      .split(',')
      .at(-1)!
      .trim()
    return isIP(forwarded) !== 0 && isProxy(request) ? unwrapped(forwarded) : remoteAddress(request)
  }
}

/** Request ids that are safe in logs, audit rows and headers. */
const REQUEST_ID = /^[\w.:/+=@-]{8,128}$/
/** W3C `traceparent` header: version, trace id, id of the calling span, and flags. Neither id is all zeros. */
const TRACE_PARENT = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})/
/** Flag of `traceparent`: the caller records the trace. */
const SAMPLED = 1

/**
 * Creates the function that reads the request id of a trusted proxy: `X-Request-Id`, else trace id and span id of `traceparent` joined
 * by a hyphen. Returns undefined for other clients, which could otherwise write chosen ids into the audit log.
 */
export function requestIdReader(config: Config): (request: IncomingMessage) => string | undefined {
  const isProxy = trustedProxy(config)
  return request => {
    const { 'x-request-id': id, traceparent } = request.headers
    if ((id === undefined && traceparent === undefined) || !isProxy(request)) return undefined
    if (typeof id === 'string' && REQUEST_ID.test(id)) return id
    const [, trace, span] = TRACE_PARENT.exec(String(traceparent)) ?? []
    return trace && `${trace}-${span}`
  }
}

/** Creates the function that reads the header `traceparent`. It returns undefined unless a trusted proxy sent it. */
export function traceParentReader(config: Config): (request: IncomingMessage) => TraceParent | undefined {
  const isProxy = trustedProxy(config)
  return request => {
    const { traceparent } = request.headers
    if (traceparent === undefined || !isProxy(request)) return undefined
    const [, traceId, spanId, flags] = TRACE_PARENT.exec(String(traceparent)) ?? []
    if (traceId === undefined) return undefined
    return { traceId, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & SAMPLED) !== 0 }
  }
}

/** Address of the peer of a request, without the prefix of IPv4-mapped IPv6 addresses. */
export function remoteAddress(request: IncomingMessage): string {
  return unwrapped(request.socket.remoteAddress ?? '')
}

/** Whether the address of a peer is on this machine. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}

/** Removes the `::ffff:` prefix of an IPv4-mapped IPv6 address. */
export function unwrapped(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '')
}
