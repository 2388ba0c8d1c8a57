import { Readable } from 'node:stream'
import { ActionError, findAction, MAX_ACTION_BODY_BYTES } from '@muster/actions'
import type { FastifyInstance, FastifyRequest, RequestPayload } from 'fastify'
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
  /** What somebody without credentials sends is refused while it comes: whole bodies of many would fill the memory. */
  const preParsing = async (
    request: FastifyRequest,
    _reply: unknown,
    body: RequestPayload,
  ): Promise<RequestPayload> => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
    if (encoding === undefined && Number(length) <= MAX_ANONYMOUS_BODY_BYTES) return body
    const { actor } = await callerOfRequest(request, core().sessions, cookie)
    if (actor !== 'Anonymous') return body
    if (encoding === undefined) throw tooLarge()
    return Readable.from(small(request.raw))
  }
  const options = { bodyLimit: MAX_ACTION_BODY_BYTES, preParsing }
  app.post<{ Params: { name: string } }>('/api/v1/actions/invoke/:name', options, async (request, reply) => {
    const { name } = request.params
    const { pipeline, sessions } = core()
    const caller = await callerOfRequest(request, sessions, cookie)
    const found = findAction(name)
    request.note = { actorId: actorId(caller), ...(found && { action: found.name }) }
    if (found?.action.kind !== 'query') requireSameOrigin(request, caller, cookie)
    // No page of another site could read the answer, but a question may leave a row in the log.
    else if (caller.actor === 'User') refuseForeignOrigin(request, cookie)
    const output = await pipeline.invoke(caller, name, textOf(request.body), request.id, request.remote)
    return reply.type('application/json; charset=utf-8').header('cache-control', 'no-store').send(output)
  })
}

/** A body that does not say its length, as long as it is one that anybody may send. */
async function* small(body: Readable): AsyncGenerator<Buffer> {
  let bytes = 0
  // Its connection stays, for the answer.
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    bytes += (chunk as Buffer).length
    if (bytes > MAX_ANONYMOUS_BODY_BYTES) throw tooLarge()
    yield chunk as Buffer
  }
}

function tooLarge(): ActionError {
  const message = `The body is larger than ${MAX_ANONYMOUS_BODY_BYTES} bytes, which is all that it may have without credentials.`
  return new ActionError('Invalid', message, { status: 413 })
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
