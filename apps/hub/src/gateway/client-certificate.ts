import { timingSafeEqual, X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { TLSSocket } from 'node:tls'
import { isLoopback } from '@muster/actions'
import type { Config } from '../config.ts'
import { familyOf, networkList } from '../net/networks.ts'
import { Refusal } from './refusal.ts'

/** A chain of several certificates fits; Node takes 16 KiB of headers in all and answers 431 beyond. */
const MAX_HEADER_BYTES = 12 * 1024

/**
 * Says whether a request may speak for somebody else's certificate or address: it comes from a trusted proxy that knows the
 * secret (decisions, "Devices").
 */
function trustedProxy(config: Config): (request: IncomingMessage) => boolean {
  const proxies = networkList(config.trustedProxies)
  const secret = Buffer.from(config.proxySecret ?? '')
  return request => {
    const told = Buffer.from(String(request.headers['x-muster-proxy-secret'] ?? ''))
    if (secret.length === 0 || told.length !== secret.length || !timingSafeEqual(told, secret)) return false
    const address = remoteAddress(request)
    return proxies.check(address, familyOf(address))
  }
}

/**
 * Reads the fingerprint of a device's certificate: the one of its TLS connection, else from `X-Client-Cert`, believed only from a
 * trusted proxy, or over plain HTTP from this machine while the hub is reached on this machine only, or with
 * MUSTER_ALLOW_PLAINTEXT_DEVICES. Throws `Refusal` with 403 when there is none to believe or its time is over, and 400 when
 * it does not parse.
 */
export function certificateReader(config: Config): (request: IncomingMessage) => string {
  const isProxy = trustedProxy(config)
  const isLocalHub = isLoopback(config.publicUrl)
  return request => {
    // What the device proved to this very process comes before whatever anybody says.
    const isTls = request.socket instanceof TLSSocket
    const proven = isTls ? (request.socket as TLSSocket).getPeerX509Certificate() : undefined
    if (proven) return fingerprintOf(proven)
    const header = request.headers['x-client-cert']
    const isBelieved =
      config.allowPlaintextDevices ||
      isProxy(request) ||
      (isLocalHub && !isTls && isLoopbackAddress(remoteAddress(request)))
    if (typeof header !== 'string' || header === '')
      throw new Refusal(403, 'Forbidden', 'no client certificate')
    if (!isBelieved) {
      throw new Refusal(
        403,
        'Forbidden',
        'a certificate in X-Client-Cert is not believed on this connection; expected HTTPS',
      )
    }
    if (header.length > MAX_HEADER_BYTES)
      throw new Refusal(400, 'Invalid', 'X-Client-Cert is longer than 12 KiB')
    return fingerprintOf(parse(header))
  }
}

/** Upper-case SHA-256 pairs of a certificate (protocol 6.5). One that is not valid yet may come of a device whose clock is wrong. */
function fingerprintOf(certificate: X509Certificate): string {
  if (certificate.validToDate.getTime() < Date.now())
    throw new Refusal(403, 'Forbidden', `certificate expired at ${certificate.validToDate.toISOString()}`)
  return certificate.fingerprint256
}

/** The first certificate of percent-encoded PEM text. */
function parse(header: string): X509Certificate {
  try {
    return new X509Certificate(decodeURIComponent(header))
  } catch {
    throw new Refusal(400, 'Invalid', 'X-Client-Cert does not hold a certificate in percent-encoded PEM')
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

function remoteAddress(request: IncomingMessage): string {
  return unwrapped(request.socket.remoteAddress ?? '')
}

/** An IPv4 address without its IPv6 wrapping. */
function unwrapped(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '')
}

function isLoopbackAddress(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}
