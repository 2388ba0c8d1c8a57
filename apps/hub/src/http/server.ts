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
} from 'fastify'
import type { Config } from '../config.ts'
import { expectedError } from '../expected-error.ts'
import { remoteReader } from '../gateway/client-certificate.ts'
import type { Core } from '../hub.ts'
import type { InstanceKey } from '../instance-key.ts'
import type { Logger } from '../log.ts'
import { beginInTurns } from './begin-in-turns.ts'
import type { SessionCookie } from './request-caller.ts'
import { actionRoutes, MAX_ANONYMOUS_BODY_BYTES } from './routes-actions.ts'
import { blobRoutes } from './routes-blobs.ts'
import { consoleRoutes } from './routes-console.ts'
import { docsRoutes } from './routes-docs.ts'
import { exportRoutes } from './routes-export.ts'
import { liveRoutes } from './routes-live.ts'
import { sessionRoutes } from './routes-session.ts'
import { bareAnswer, responseWith, securityHeaders } from './security-headers.ts'
import { limitTime } from './time-limit.ts'
import { tlsOptions } from './tls.ts'
import { isForPage, sendWaitingPage } from './waiting-page.ts'

/** How long a client may take to send a request, in milliseconds: its head, and all of it with a body of 8 MiB. */
const HEAD_TIMEOUT_MS = 15_000
const REQUEST_TIMEOUT_MS = 120_000
/**
 * Requests that one connection may have under way. Clients wait for their answer before they ask again; each that does not is kept
 * with its answer, or the file that it is, until somebody reads it.
 */
const MAX_PIPELINED = 8
/** A client that takes nothing of an answer for so long is let go, in milliseconds; smaller ones fit where nobody waits for them. */
const STALL_MS = 60_000
const SMALL_BYTES = 16 * 1024
/**
 * How long an idle connection is kept for the next request, in milliseconds: longer than proxies and programs keep theirs (two minutes
 * at most by default), because a request that meets the end of its connection fails.
 */
const KEEP_ALIVE_MS = 130_000
/** How often requests that take longer are looked for, in milliseconds. */
const TIMEOUT_CHECK_MS = 5_000

declare module 'fastify' {
  interface FastifyRequest {
    /** What the log tells beyond the route: who sent it, and the action that it named if there is such a one. */
    note: { actorId?: string | null; action?: string } | null
    /** Address that it comes from, by the same rule as a device's. */
    remote: string
  }
}

type ServerOptions = {
  config: Config
  instanceKey: InstanceKey
  log: Logger
  /** The hub behind the doors; nothing while it starts. */
  core: () => Core | undefined
  publicUrl: () => string
  /** Folder of the built console. */
  consoleDir?: string
  /** How long a client may take to send a whole request, two minutes unless told otherwise. */
  requestTimeoutMs?: number
  /** How long it may take nothing of an answer, one minute unless told otherwise. */
  stallMs?: number
}

/** The HTTP server with every route. It answers from the start: before the hub is ready only the health routes succeed. */
export async function createServer({
  config,
  instanceKey,
  log,
  core,
  publicUrl,
  consoleDir,
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
  stallMs = STALL_MS,
}: ServerOptions): Promise<FastifyInstance> {
  const headers = securityHeaders(config)
  const app = fastify({
    bodyLimit: MAX_ANONYMOUS_BODY_BYTES,
    serverFactory: handle =>
      openServer(config, instanceKey, config.devicePort === undefined, (request, response) => {
        if (!takesTurns(request.socket, response)) return
        const proxy = core()?.proxy
        if (proxy?.isFor(request)) return void proxy.handle(request, response)
        limitTime(request, requestTimeoutMs, () =>
          refuseJunk({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, request.socket, headers),
        )
        handle(request, response)
      }),
    clientErrorHandler: (error, socket) => refuseJunk(error, socket, headers),
    genReqId: () => crypto.randomUUID(),
    requestIdHeader: false,
    routerOptions: { maxParamLength: 256 },
    forceCloseConnections: true,
    // What fails before there is a route, like a path that cannot be decoded, is told like everything else.
    frameworkErrors: (error, request, reply) => {
      tellRequestId(request, reply)
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

  // Bodies stay bytes: actions need the text as it was sent, and everything else is refused by its type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )

  app.addHook('onRequest', async request => {
    if (!core() && !isHealth(request.url)) throw notReady()
    // Nothing is unpacked here, so a small body stays a small one.
    if (request.headers['content-encoding'] !== undefined)
      throw new ActionError('Invalid', 'Expected a body without Content-Encoding.', { status: 415 })
  })
  app.addHook('onSend', async (request, reply, payload) => {
    tellRequestId(request, reply)
    if (!isSmall(payload)) reply.raw.setTimeout(stallMs, () => reply.raw.destroy())
  })
  // The route's pattern, since addresses may hold what is secret.
  if (log.isLevelEnabled('debug')) {
    app.addHook('onResponse', async (request, reply) =>
      log.debug(
        {
          requestId: request.id,
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
  const answerError = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    // Who goes away in the middle of a request is no fault of the hub's or of its database's.
    const known =
      error === request.raw.errored
        ? new ActionError('Invalid', 'The request was cut off.')
        : (expectedError(error) ?? asActionError(error, request))
    if (known.status >= 500)
      log.error({ err: error, requestId: request.id, path: request.routeOptions.url }, 'request failed')
    if (known.retryAfterSecs !== undefined) reply.header('retry-after', known.retryAfterSecs)
    if (isForPage(request) && !core()) return sendWaitingPage(reply)
    const { kind, message, issues } = known
    return reply.code(known.status).send({ kind, message, ...(issues && { issues }), requestId: request.id })
  }
  app.setErrorHandler(answerError)

  app.get('/healthz', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const problem = core() ? await core()!.readiness() : 'starting'
    return problem ? reply.code(503).send({ status: 'not ready', reason: problem }) : { status: 'ready' }
  })

  // The cookie's name says what it promises, and follows from settings, never from a header (decisions).
  const isSecure = config.publicUrl.startsWith('https:')
  const cookie: SessionCookie = { name: isSecure ? '__Host-muster' : 'muster', isSecure }
  const running = (): Core => {
    const ready = core()
    // It may have stopped since the request began.
    if (!ready) throw notReady()
    return ready
  }
  actionRoutes(app, running, cookie)
  sessionRoutes(app, running, cookie)
  exportRoutes(app, running, cookie)
  liveRoutes(app, running, cookie)
  blobRoutes(app, running, cookie)
  docsRoutes(app, publicUrl)
  await consoleRoutes(app, config, publicUrl, consoleDir)
  return app
}

/**
 * The listener for devices alone, which takes WebSocket upgrades and nothing else. The one for people then asks browsers for no
 * certificate (decisions, "Actions and audit").
 */
export function createDeviceServer(config: Config, instanceKey: InstanceKey): Server {
  return openServer(config, instanceKey, true, (request, response) => {
    response.writeHead(426, { upgrade: 'websocket', connection: 'close' }).end()
    request.resume()
  })
}

/** A server on plain HTTP or with the hub's certificate; `asksForCertificate` requests one of clients and requires none. */
function openServer(
  config: Config,
  instanceKey: InstanceKey,
  asksForCertificate: boolean,
  listener: RequestListener,
): Server {
  const options = {
    ServerResponse: responseWith(securityHeaders(config)),
    headersTimeout: HEAD_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    // Some clients offer HTTP/2 with every request: who offers what we do not speak is served as if they had not (RFC 9110, 7.8).
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => /\bwebsocket\b/i.test(headers.upgrade ?? ''),
    // What goes to a device may take as long as it likes; the hub's own requests have their time in `limitTime`.
    requestTimeout: 0,
  }
  // Devices sign their certificates themselves: the database knows which to believe, not a chain.
  const server = config.tls
    ? createHttpsServer(
        {
          ...options,
          ...tlsOptions(config.tls, instanceKey),
          requestCert: asksForCertificate,
          rejectUnauthorized: false,
        },
        listener,
      )
    : createHttpServer(options, listener)
  beginInTurns(server)
  return server
}

const underWay = new WeakMap<Socket, number>()

/** Whether a connection has no more requests under way than it may; one that has is ended, with what else it has sent already. */
function takesTurns(socket: Socket, response: ServerResponse): boolean {
  if (socket.destroyed) return false
  const count = (underWay.get(socket) ?? 0) + 1
  if (count > MAX_PIPELINED) {
    socket.destroy()
    return false
  }
  underWay.set(socket, count)
  response.once('close', () => underWay.set(socket, underWay.get(socket)! - 1))
  return true
}

/** Whether an answer leaves at once, whatever becomes of its reader. */
function isSmall(payload: unknown): boolean {
  const { length = Number.POSITIVE_INFINITY } = (payload ?? '') as { length?: number }
  return length <= SMALL_BYTES
}

function tellRequestId(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
}

/** Answers what is no request that can be read, or comes too slowly, and lets its connection go. */
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

function isHealth(url: string): boolean {
  const path = url.split('?')[0]
  return path === '/healthz' || path === '/readyz'
}

function notReady(): ActionError {
  return new ActionError('Internal', 'The hub is starting or stopping.', { status: 503, retryAfterSecs: 1 })
}

/** Fastify's own refusals in the words of the wire; anything else is a fault of ours and told without its text. */
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
  // Fastify repeats paths in its messages, however long they are.
  if (status < 500) return new ActionError('Invalid', error.message.slice(0, 200), { status, cause: error })
  return new ActionError('Internal', 'Something went wrong on the hub.', { cause: error })
}
