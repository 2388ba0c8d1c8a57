import fastifyCookie from '@fastify/cookie'
import { ActionError, MAX_ACTION_BODY_BYTES } from '@muster/actions'
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import type { Config } from '../config.ts'
import { expectedError } from '../expected-error.ts'
import type { Core } from '../hub.ts'
import type { Logger } from '../log.ts'
import type { SessionCookie } from './request-caller.ts'
import { actionRoutes } from './routes-actions.ts'
import { consoleRoutes } from './routes-console.ts'
import { docsRoutes } from './routes-docs.ts'
import { liveRoutes } from './routes-live.ts'
import { sessionRoutes } from './routes-session.ts'

/** How long a client may take to send a request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 120_000

type ServerOptions = {
  config: Config
  log: Logger
  /** The hub behind the doors; nothing while it starts. */
  core: () => Core | undefined
  publicUrl: () => string
  /** Folder of the built console. */
  consoleDir?: string
}

/** The HTTP server with every route. It answers from the start: before the hub is ready only the health routes succeed. */
export async function createServer({
  config,
  log,
  core,
  publicUrl,
  consoleDir,
}: ServerOptions): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: MAX_ACTION_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    genReqId: () => crypto.randomUUID(),
    requestIdHeader: false,
    trustProxy: config.trustedProxies.length > 0 ? config.trustedProxies : false,
    routerOptions: { maxParamLength: 256 },
    forceCloseConnections: true,
    // What fails before there is a route, like a path that cannot be decoded, is told like everything else.
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(request, reply)
      answerError(error, request, reply)
    },
  })
  await app.register(fastifyCookie)

  // Bodies stay bytes: actions need the text as it was sent, and everything else is refused by its type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )

  app.addHook('onRequest', async request => {
    if (!core() && !isHealth(request.url)) throw notReady()
  })
  app.addHook('onSend', async (request, reply) => setCommonHeaders(request, reply))
  const answerError = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const known = expectedError(error) ?? asActionError(error)
    if (known.status >= 500)
      log.error({ err: error, requestId: request.id, path: request.routeOptions.url }, 'request failed')
    if (known.retryAfterSecs !== undefined) reply.header('retry-after', known.retryAfterSecs)
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
  liveRoutes(app, running, cookie)
  docsRoutes(app, publicUrl)
  await consoleRoutes(app, config, publicUrl, consoleDir)
  return app
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-content-type-options', 'nosniff')
  reply.header('referrer-policy', 'same-origin')
  reply.header('x-frame-options', 'DENY')
  reply.header('x-request-id', request.id)
}

function isHealth(url: string): boolean {
  const path = url.split('?')[0]
  return path === '/healthz' || path === '/readyz'
}

function notReady(): ActionError {
  return new ActionError('Internal', 'The hub is starting or stopping.', { status: 503, retryAfterSecs: 1 })
}

/** Fastify's own refusals in the words of the wire; anything else is a fault of ours and told without its text. */
function asActionError(error: FastifyError): ActionError {
  const status = error.statusCode ?? 500
  if (status === 413) {
    return new ActionError('Invalid', `The body is larger than ${MAX_ACTION_BODY_BYTES} bytes.`, {
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
