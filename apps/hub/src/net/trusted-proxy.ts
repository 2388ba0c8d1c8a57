import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { familyOf, networkList } from './networks.ts'

/**
 * Says whether a request may speak for somebody else's certificate or address: it comes from a trusted proxy that knows the
 * secret (decisions, "Devices").
 */
export function trustedProxy(config: Config): (request: IncomingMessage) => boolean {
  const proxies = networkList(config.trustedProxies)
  const secret = Buffer.from(config.proxySecret ?? '')
  return request => {
    const told = Buffer.from(String(request.headers['x-muster-proxy-secret'] ?? ''))
    if (secret.length === 0 || told.length !== secret.length || !timingSafeEqual(told, secret)) return false
    const address = remoteAddress(request)
    return proxies.check(address, familyOf(address))
  }
}

/** Reads who a request comes from, for the log and for limits: the peer, or whom a trusted proxy names last in `X-Forwarded-For`. */
export function remoteReader(config: Config): (request: IncomingMessage) => string {
  const isProxy = trustedProxy(config)
  return request => {
    const forwarded = String(request.headers['x-forwarded-for'] ?? '')
      .split(',')
      .at(-1)!
      .trim()
    return isIP(forwarded) !== 0 && isProxy(request) ? unwrapped(forwarded) : remoteAddress(request)
  }
}

/** An id that may stand in logs, audit rows and headers. */
const REQUEST_ID = /^[\w.:/+=@-]{8,128}$/
/** Trace context of the W3C, version 00: the id of the trace and of the calling span, neither all zeros. */
const TRACE_PARENT = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}/

/**
 * Reads the request id that a trusted proxy gives: `X-Request-Id`, else trace and span of `traceparent` joined by a hyphen. Undefined
 * for other clients, who could otherwise write ids of their choice into the audit log.
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

/** Address of the peer of a request, IPv4 in its own form. */
export function remoteAddress(request: IncomingMessage): string {
  return unwrapped(request.socket.remoteAddress ?? '')
}

/** An IPv4 address without its IPv6 wrapping. */
function unwrapped(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '')
}
