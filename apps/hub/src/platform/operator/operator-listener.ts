import { createHash, timingSafeEqual } from 'node:crypto'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { isIP } from 'node:net'
import { isLoopback } from '@muster/actions'
import { type Config, isLocalHost } from '../config/config.ts'
import type { InstanceKey } from '../credentials/instance-key.ts'
import { tlsOptions, useTicketKeys } from '../http/tls.ts'
import { pathOf } from '../net/paths.ts'
import { responseWith, securityHeaders } from '../net/security-headers.ts'
import { hasTwoHosts } from '../net/served-hosts.ts'
import { remoteAddress } from '../net/trusted-proxy.ts'
import { LineBudget } from '../runtime/line-budget.ts'
import type { Logger } from '../runtime/log.ts'

/** Maximum number of connections. A monitoring system needs one or two. */
const MAX_CONNECTIONS = 64
/** Deadline for receiving a request, in milliseconds. Requests have no body. */
const REQUEST_TIMEOUT_MS = 5_000
/** Time after which a connection is closed if its client does not read the response, in milliseconds. */
const STALL_MS = 30_000
/** Maximum number of refusals that are logged per minute. */
const LOGGED_REFUSALS = 10

/** Headers that proxies add. They show that a request from loopback was forwarded by a proxy on this machine. */
const FORWARDING =
  /^(forwarded|via|x-forwarded-.*|x-real-ip|x-(original|cluster)-.*|(true-|x-)?client-ip|cf-.*|x-envoy-.*)$/

/** A response of the operator listener. */
export type OperatorAnswer = { status: number; contentType: string; body: string }

type OperatorListenerOptions = {
  config: Pick<Config, 'operatorHost' | 'publicUrl' | 'hstsSubdomains' | 'hosts' | 'tls'>
  instanceKey: InstanceKey
  token: string
  /** Functions that make the response, by path. */
  routes: Record<string, () => Promise<OperatorAnswer>>
  log: Logger
}

/**
 * Creates the listener for operators, which serves metrics and health. Every request needs the token in its `Authorization` header.
 * Requests that came through a proxy are refused, so that the listener is not published by accident. The listener uses TLS unless it
 * listens on loopback only.
 */
export function createOperatorListener(options: OperatorListenerOptions): Server {
  const { config, instanceKey, token, routes, log } = options
  const digest = digestOf(token)
  const logRefusal = refusalLog(log)

  const answer: RequestListener = (request, response) => {
    response.setTimeout(STALL_MS, () => response.destroy())
    request.resume()
    const refusal = refusalOf(request, config, digest)
    if (refusal !== undefined) {
      logRefusal(request, refusal)
      return send(response, refusal)
    }
    const route = Object.hasOwn(routes, pathOf(request.url!)) ? routes[pathOf(request.url!)] : undefined
    if (route === undefined)
      return send(response, text(404, `Expected one of the paths ${Object.keys(routes).join(', ')}.`))
    route().then(
      answered => send(response, answered),
      error => {
        log.error({ err: error, path: pathOf(request.url!) }, 'request of an operator failed')
        send(response, text(500, 'Something went wrong on the hub.'))
      },
    )
  }

  const base = {
    ServerResponse: responseWith(securityHeaders(config)),
    headersTimeout: REQUEST_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: REQUEST_TIMEOUT_MS,
  }
  const isLocal = isLocalHost(config.operatorHost)
  const secure =
    isLocal || config.tls === undefined
      ? undefined
      : createTlsServer({ ...base, ...tlsOptions(config.tls), handshakeTimeout: REQUEST_TIMEOUT_MS }, answer)
  if (secure) useTicketKeys(secure, instanceKey)
  const server = secure ?? createServer(base, answer)
  server.maxConnections = MAX_CONNECTIONS
  return server
}

/** Response that refuses a request, or undefined for an allowed request. */
function refusalOf(
  request: IncomingMessage,
  config: OperatorListenerOptions['config'],
  digest: Buffer,
): OperatorAnswer | undefined {
  const { headers, method } = request
  const forwarding = Object.keys(headers).find(name => FORWARDING.test(name))
  if (forwarding !== undefined)
    return text(
      403,
      `Found the header ${forwarding}, expected a request without a proxy in between: this listener must not be published.`,
    )
  if (hasTwoHosts(request) || !isOwnHost(headers.host, config))
    return text(
      421,
      'Found another host, expected an address, MUSTER_OPERATOR_HOST, the host of MUSTER_PUBLIC_URL or a name in MUSTER_HOSTS.',
    )
  const [, sent] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  // Compares digests, because `timingSafeEqual` needs buffers of the same length.
  if (sent === undefined || !timingSafeEqual(digestOf(sent), digest))
    return text(401, 'Expected the header Authorization with "Bearer" and the operator token.')
  if (method !== 'GET' && method !== 'HEAD') return text(405, 'Expected GET.')
  return undefined
}

/**
 * Whether a `Host` header has an IP address, a loopback name or a name of this hub. A website that reaches the listener by DNS rebinding
 * sends its own name.
 */
function isOwnHost(header: string | undefined, config: OperatorListenerOptions['config']): boolean {
  const url = URL.parse(`http://${header ?? ''}`)
  if (url === null || header === undefined) return false
  const { hostname } = url
  const names = [config.operatorHost.toLowerCase(), new URL(config.publicUrl).hostname, ...config.hosts]
  return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || isLoopback(url.origin) || names.includes(hostname)
}

function refusalLog(log: Logger): (request: IncomingMessage, refusal: OperatorAnswer) => void {
  const budget = new LineBudget(LOGGED_REFUSALS)
  return (request, { status, body }) => {
    if (!budget.take()) return
    log.warn(
      { remote: remoteAddress(request), status, reason: body.trim() },
      'request of an operator refused',
    )
  }
}

function send(response: ServerResponse, { status, contentType, body }: OperatorAnswer): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(status === 405 && { allow: 'GET, HEAD' }),
    ...(status >= 400 && status !== 404 && status !== 503 && { connection: 'close' }),
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}

function text(status: number, message: string): OperatorAnswer {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${message}\n` }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
