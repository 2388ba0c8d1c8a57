import { ActionError, findAction, MAX_ACTION_BODY_BYTES } from '@muster/actions'
import type { FastifyInstance } from 'fastify'
import { actorId } from '../caller.ts'
import type { Core } from '../hub.ts'
import {
  callerOfRequest,
  refuseForeignOrigin,
  requireSameOrigin,
  type SessionCookie,
} from './request-caller.ts'

/** Largest body of somebody without credentials, in bytes: what a form holds. Reading more takes time, which is for those we know. */
export const MAX_ANONYMOUS_BODY_BYTES = 64 * 1024

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The HTTP door of the pipeline: `POST /api/v1/actions/invoke/{name}`, answered with the bare output (catalogue 1.1). */
export function actionRoutes(app: FastifyInstance, core: () => Core, cookie: SessionCookie): void {
  const options = { bodyLimit: MAX_ACTION_BODY_BYTES }
  app.post<{ Params: { name: string } }>('/api/v1/actions/invoke/:name', options, async (request, reply) => {
    const { name } = request.params
    const { pipeline, sessions } = core()
    const caller = await callerOfRequest(request, sessions, cookie)
    const found = findAction(name)
    request.note = { actorId: actorId(caller), ...(found && { action: found.name }) }
    if (found?.action.kind !== 'query') requireSameOrigin(request, caller, cookie)
    // No page of another site could read the answer, but a question may leave a row in the log.
    else if (caller.actor === 'User') refuseForeignOrigin(request, cookie)
    if (caller.actor === 'Anonymous') refuseLarge(request.body)
    const output = await pipeline.invoke(caller, name, textOf(request.body), request.id, request.remote)
    return reply.type('application/json; charset=utf-8').header('cache-control', 'no-store').send(output)
  })
}

function refuseLarge(body: unknown): void {
  if (!Buffer.isBuffer(body) || body.length <= MAX_ANONYMOUS_BODY_BYTES) return
  const message = `The body is larger than ${MAX_ANONYMOUS_BODY_BYTES} bytes, which is all that it may have without credentials.`
  throw new ActionError('Invalid', message, { status: 413 })
}

/** The body as text; absent counts as empty. Throws `Invalid` for bytes that are not UTF-8. */
export function textOf(body: unknown): string {
  if (!Buffer.isBuffer(body)) return ''
  try {
    return decoder.decode(body)
  } catch (cause) {
    throw new ActionError('Invalid', 'The body is not valid UTF-8.', { cause })
  }
}
