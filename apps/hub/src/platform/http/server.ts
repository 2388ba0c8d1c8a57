import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import fastifyCookie from '@fastify/cookie'
import { ActionError } from '@muster/actions'
import {
  type ConnectionError,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type RouteShorthandOptionsWithHandler,
} from 'fastify'
import type { Config } from '../config/config.ts'
import type { InstanceKey } from '../credentials/instance-key.ts'
import { Shares } from '../limits/shares.ts'
import { isHealthPath, pathOf } from '../net/paths.ts'
import { bareAnswer, responseWith, securityHeaders } from '../net/security-headers.ts'
import { hasTwoHosts, ServedHosts, twoHostsError } from '../net/served-hosts.ts'
import { limitTime } from '../net/time-limit.ts'
import { remoteReader, requestIdReader, traceParentReader } from '../net/trusted-proxy.ts'
import type { Core } from '../pipeline/core.ts'
import { expectedError } from '../pipeline/expected-error.ts'
import type { Logger } from '../runtime/log.ts'
import type { RequestSpan, Tracer } from '../runtime/tracer.ts'
import type { SessionCookie } from '../sessions/request-caller.ts'
import { isForPage, largeHeadAnswer, sendPage, WAITING_PAGE, wrongHostPage } from './plain-pages.ts'
import { actionRoutes, MAX_ANONYMOUS_BODY_BYTES } from './routes-actions.ts'
import { consoleRoutes } from './routes-console.ts'
import { docsRoutes } from './routes-docs.ts'
import { installRoutes } from './routes-install.ts'
import { liveRoutes } from './routes-live.ts'
import { tlsOptions, useTicketKeys } from './tls.ts'

/** Deadline for receiving the head of a request, in milliseconds. */
const HEAD_TIMEOUT_MS = 15_000
/** Deadline for receiving a whole request with a body of up to 8 MiB, in milliseconds. */
const REQUEST_TIMEOUT_MS = 120_000
/**
 * Time after which a client is disconnected if it reads nothing of its response, in milliseconds. Responses of at most `SMALL_BYTES` are
 * exempt.
 */
const STALL_MS = 60_000
/** Size up to which a response fits into the socket buffers, in bytes. */
const SMALL_BYTES = 16 * 1024
/**
 * Time for which an idle connection is kept, in milliseconds. It is longer than the 2 min that proxies and clients use by default, because
 * a request sent into a closing connection fails.
 */
const KEEP_ALIVE_MS = 130_000
/** Deadline for a TLS handshake, in milliseconds. Node's default of 120 s would hold a file descriptor too long. */
const HANDSHAKE_TIMEOUT_MS = 30_000
/** Interval at which Node looks for connections that exceed `HEAD_TIMEOUT_MS`, in milliseconds. */
const TIMEOUT_CHECK_MS = 5_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Additional log fields of the request: its actor, and its action if an action of that name exists. */
    note: { actorId?: string | null; action?: string } | null
    /** Client IP, also behind a trusted proxy. The gateway finds the IP of a device by the same rule. */
    remote: string
  }
}

/** Options of both listeners: the main listener and the listener for devices only. */
type ListenerOptions = { config: Config; instanceKey: InstanceKey; shares: Shares }

/** Method and path of an HTTP route, in the form of Fastify: `GET /api/v1/notes/:noteId`. */
export type RouteName = `${'GET' | 'POST' | 'PUT'} /${string}`

/** Makes the handler of a feature's HTTP route. `core` throws while the hub starts or stops. */
export type Route = (
  core: () => Core,
  cookie: SessionCookie,
) => RouteShorthandOptionsWithHandler & {
  /** True if the handler streams the body itself, whatever its type. */
  streamsBody?: boolean
}

/**
 * Answers a request whose head is too large: the whole answer, or undefined for an answer without content. `packet` holds the bytes
 * that arrived last.
 */
type AnswerLargeHead = (packet: Buffer, config: Config) => string | undefined

type ServerOptions = Omit<ListenerOptions, 'shares'> & {
  /** Counts of the connections of this node; those of this server alone by default. */
  shares?: Shares
  log: Logger
  tracer?: Tracer | undefined
  /** The running hub; undefined while it starts or stops. */
  core: () => Core | undefined
  publicUrl: () => string
  /** Routes of the features. */
  routes?: Readonly<Record<RouteName, Route>>
  answerLargeHead?: AnswerLargeHead
  /** Folder of the built console. */
  consoleDir?: string
  /** The packed agent. */
  agentFile?: string
  /** Deadline for receiving a whole request, in milliseconds; `REQUEST_TIMEOUT_MS` by default. */
  requestTimeoutMs?: number
  /** Time after which a connection is closed if its client does not read the response, in milliseconds; `STALL_MS` by default. */
  stallMs?: number
}

/** Creates the HTTP server with every route. It accepts requests immediately. Until the hub is ready, only the health routes succeed. */
export async function createServer({
  config,
  instanceKey,
  log,
  shares = new Shares({ config, log }),
  tracer,
  core,
  publicUrl,
  routes = {},
  answerLargeHead = () => undefined,
  consoleDir,
  agentFile,
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
  stallMs = STALL_MS,
}: ServerOptions): Promise<FastifyInstance> {
  const headers = securityHeaders(config)
  const requestIdOf = requestIdReader(config)
  const traceParentOf = traceParentReader(config)
  const spans = new WeakMap<IncomingMessage, RequestSpan>()
  /** Log fields that other systems log for the same request too, such as the request id of a proxy. */
  const idsOf = ({ id, raw }: FastifyRequest): object => {
    const { traceId } = spans.get(raw) ?? traceParentOf(raw) ?? {}
    return { requestId: id, ...(traceId !== undefined && { traceId }) }
  }
  const app = fastify({
    bodyLimit: MAX_ANONYMOUS_BODY_BYTES,
    serverFactory: handle =>
      openServer({ config, instanceKey, shares }, config.devicePort === undefined, (request, response) => {
        if (hasTwoHosts(request)) return refuseWhole(request, response, twoHostsError())
        const proxy = core()?.proxy
        if (proxy?.isFor(request)) return void proxy.handle(request, response)
        limitTime(request, requestTimeoutMs, () =>
          refuseJunk({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, request.socket, headers),
        )
        handle(request, response)
      }),
    clientErrorHandler: (error, socket) => {
      const answerOf = (packet: Buffer) => answerLargeHead(packet, config) ?? largeHeadAnswer(packet, headers)
      if (!answersLargeHead(error, socket, answerOf)) refuseJunk(error, socket, headers)
    },
    genReqId: request => requestIdOf(request) ?? crypto.randomUUID(),
    requestIdHeader: false,
    routerOptions: { maxParamLength: 256 },
    forceCloseConnections: true,
    // Errors before routing, such as a path that cannot be decoded, are answered in the format of all other errors.
    frameworkErrors: (error, request, reply) => {
      setRequestIdHeader(request, reply)
      answerError(error, request, reply)
    },
  })
  await app.register(fastifyCookie)
  app.decorateRequest('note', null)
  const remoteOf = remoteReader(config)
  app.decorateRequest('remote', {
    getter() {
      return remoteOf(this.raw)
    },
  })

  // Bodies stay bytes: actions need the exact text that was sent. Other content types are rejected.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )

  // Only the settings decide the cookie's name, because a client could forge a request header such as `X-Forwarded-Proto`
  // (docs/decisions.md, "JWTs, cookies and host names").
  const isSecure = config.publicUrl.startsWith('https:')
  const cookie: SessionCookie = { name: isSecure ? '__Host-muster' : 'muster', isSecure }
  const hosts = new ServedHosts(config)
  app.addHook('onRequest', async request => {
    hosts.refuseForeign(request, cookie.name)
    if (!core() && !isHealthPath(pathOf(request.url))) throw new NotReady()
    // Compressed bodies are rejected, so a small body cannot expand into a large one.
    if (request.headers['content-encoding'] !== undefined)
      throw new ActionError('Invalid', 'Expected a body without Content-Encoding.', { status: 415 })
  })
  app.addHook('onSend', async (request, reply, payload) => {
    setRequestIdHeader(request, reply)
    if (core()?.readiness.isDraining) reply.header('connection', 'close')
    if (!isSmall(payload)) reply.raw.setTimeout(stallMs, () => reply.raw.destroy())
  })
  if (tracer) {
    app.addHook('onRequest', async (request, { raw: response }) => {
      const { id, method, raw } = request
      const span = tracer.request(traceParentOf(raw))
      spans.set(raw, span)
      // `close` comes after each response, also when the client leaves before its end.
      response.once('close', () => {
        const { url: route } = request.routeOptions
        span.end({ method, route, status: response.statusCode, requestId: id })
      })
    })
    // Reading the body leaves the asynchronous context of earlier hooks, so the handler gets it here.
    app.addHook('preHandler', ({ raw }, _reply, done) => {
      const span = spans.get(raw)
      if (span) span.run(done)
      else done()
    })
  }
  // Logs the route's pattern, because URLs may contain secrets.
  if (log.isLevelEnabled('debug')) {
    app.addHook('onResponse', async (request, reply) =>
      log.debug(
        {
          ...idsOf(request),
          method: request.method,
          route: request.routeOptions.url,
          ...request.note,
          status: reply.statusCode,
          durationMs: Math.round(reply.elapsedTime * 10) / 10,
        },
        'request',
      ),
    )
  }
  let isNotReadyLogged = false
  const answerError = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    // A client that disconnects during its request is not an error of the hub or of its database.
    const known =
      error === request.raw.errored
        ? new ActionError('Invalid', 'The request was cut off.')
        : (expectedError(error) ?? asActionError(error, request))
    if (known instanceof NotReady) {
      if (!isNotReadyLogged) log.info('requests are refused while the hub starts or stops')
      isNotReadyLogged = true
    } else if (known.status >= 500)
      log.error({ err: error, ...idsOf(request), path: request.routeOptions.url }, 'request failed')
    if (known.retryAfterSecs !== undefined) reply.header('retry-after', known.retryAfterSecs)
    if (isForPage(request)) {
      if (known.status === 421) return sendPage(reply, 421, wrongHostPage(known.message))
      if (!core()) return sendPage(reply.header('refresh', WAITING_PAGE.againSecs), 503, WAITING_PAGE)
    }
    const { kind, message, issues } = known
    return reply.code(known.status).send({ kind, message, ...(issues && { issues }), requestId: request.id })
  }
  app.setErrorHandler(answerError)

  app.get('/healthz', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const state = (await core()?.readiness.state()) ?? { status: 'not ready', reason: 'starting' }
    return reply.code(state.status === 'not ready' ? 503 : 200).send(state)
  })

  const running = (): Core => {
    const ready = core()
    // The hub may have stopped since the request began.
    if (!ready) throw new NotReady()
    return ready
  }
  actionRoutes(app, running, cookie)
  liveRoutes(app, running, cookie)
  for (const [name, route] of Object.entries(routes)) addRoute(app, name, route(running, cookie))
  docsRoutes(app, publicUrl)
  installRoutes(app, config, publicUrl, agentFile)
  await consoleRoutes(app, config, publicUrl, consoleDir)
  return app
}

/** Adds a route in a scope of its own, so that a handler that streams its body changes nothing for the others. */
function addRoute(
  app: FastifyInstance,
  name: string,
  { streamsBody = false, ...options }: ReturnType<Route>,
): void {
  const [method = '', url = ''] = name.split(' ')
  app.register(async scope => {
    if (streamsBody) {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _body, done) => done(null))
    }
    scope.route({ method, url, ...options })
  })
}

/**
 * Creates the listener for devices only. It accepts nothing but WebSocket upgrades. If this listener exists, the main listener does not
 * request client certificates, so that browsers do not prompt for one (docs/decisions.md, "Certificates").
 */
export function createDeviceServer(options: ListenerOptions): Server {
  return openServer(options, true, (request, response) => {
    response.writeHead(426, { upgrade: 'websocket', connection: 'close' }).end()
    request.resume()
  })
}

/**
 * Creates an HTTPS server if `config.tls` is set, else a plain HTTP server. `asksForCertificate` requests a client certificate but does not
 * require one.
 */
function openServer(
  { config, instanceKey, shares }: ListenerOptions,
  asksForCertificate: boolean,
  listener: RequestListener,
): Server {
  const checked: RequestListener = (request, response) => {
    // The connection was closed, and its other requests may have arrived before.
    if (request.socket.destroyed) return
    const refused = admit(request, response)
    if (request.socket.destroyed) return
    if (refused) refuseWhole(request, response, refused)
    else listener(request, response)
  }
  const options = {
    ServerResponse: responseWith(securityHeaders(config)),
    headersTimeout: HEAD_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    // Some clients offer an upgrade to HTTP/2 with every request. An upgrade to anything but WebSocket is ignored, and the request is
    // answered (RFC 9110, 7.8).
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => /\bwebsocket\b/i.test(headers.upgrade ?? ''),
    // Requests to a device's web server have no deadline. `limitTime` limits the requests to the hub itself.
    requestTimeout: 0,
  }
  // Devices use self-signed certificates. The database lists the trusted certificates, so Node must not reject them for their chain.
  const secure = config.tls
    ? createHttpsServer(
        {
          ...options,
          ...tlsOptions(config.tls),
          requestCert: asksForCertificate,
          rejectUnauthorized: false,
          handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
        },
        checked,
      )
    : undefined
  if (secure) useTicketKeys(secure, instanceKey)
  const server = secure ?? createHttpServer(options, checked)
  const admit = shares.watch(server)
  return server
}

/** Whether a response is small enough for the socket buffers. Such a response leaves the process even if the client does not read it. */
function isSmall(payload: unknown): boolean {
  const { length = Number.POSITIVE_INFINITY } = (payload ?? '') as { length?: number }
  return length <= SMALL_BYTES
}

/** Refuses a request before its route is known, and closes its connection. */
function refuseWhole(
  request: IncomingMessage,
  response: ServerResponse,
  { status, kind, message, retryAfterSecs }: ActionError,
): void {
  const body = JSON.stringify({ kind, message })
  const type = 'application/json; charset=utf-8'
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...(retryAfterSecs !== undefined && { 'retry-after': String(retryAfterSecs) }),
  })
  response.end(body)
  request.resume()
}

function setRequestIdHeader(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
}

/** Answers a malformed request or a request that missed its deadline, and closes its connection. */
function refuseJunk(
  { code }: Pick<ConnectionError, 'code'>,
  socket: Socket,
  headers: Record<string, string>,
): void {
  const [status, message] =
    code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? [408, 'The request took too long.']
      : code === 'HPE_HEADER_OVERFLOW'
        ? [431, 'The headers are too large.']
        : [400, 'The request is no HTTP.']
  if (socket.writable) socket.write(bareAnswer(headers, new ActionError('Invalid', message, { status })))
  socket.destroy()
}

/** Connections whose last answer is on the way. Node reports the rest of their request as further errors. */
const answered = new WeakSet<Socket>()
/** Time in which a browser may send the rest of a refused head, in milliseconds. Unread bytes would reset the connection before the answer. */
const REST_OF_HEAD_MS = 2_000

/** Answers a request whose head is too large. Returns false for all other errors, and where `answerOf` has no answer. */
function answersLargeHead(
  { code, rawPacket }: Pick<ConnectionError, 'code'> & { rawPacket?: unknown },
  socket: Socket,
  answerOf: (packet: Buffer) => string | undefined,
): boolean {
  if (answered.has(socket)) return true
  if (code !== 'HPE_HEADER_OVERFLOW' || !Buffer.isBuffer(rawPacket)) return false
  const answer = answerOf(rawPacket)
  if (answer === undefined || !socket.writable) return false
  answered.add(socket)
  socket.end(answer)
  setTimeout(() => socket.destroy(), REST_OF_HEAD_MS).unref()
  return true
}

class NotReady extends ActionError {
  constructor() {
    super('Internal', 'The hub is starting or stopping.', { status: 503, retryAfterSecs: 1 })
  }
}

/** Converts Fastify's own errors to errors of the API. Other errors are bugs of the hub and answered without their text. */
function asActionError(error: FastifyError, { routeOptions }: FastifyRequest): ActionError {
  const status = error.statusCode ?? 500
  if (status === 413) {
    return new ActionError('Invalid', `The body is larger than ${routeOptions.bodyLimit} bytes.`, {
      status,
      cause: error,
    })
  }
  if (status === 415)
    return new ActionError('Invalid', 'Expected a body of type application/json.', { status, cause: error })
  // Fastify repeats paths in its messages. Paths may be long, so the message is truncated.
  if (status < 500) return new ActionError('Invalid', error.message.slice(0, 200), { status, cause: error })
  return new ActionError('Internal', 'Something went wrong on the hub.', { cause: error })
}
