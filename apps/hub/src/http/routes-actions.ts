import { ActionError, findAction } from '@muster/actions'
import type { FastifyInstance } from 'fastify'
import type { Core } from '../hub.ts'
import { callerOfRequest, requireSameOrigin, type SessionCookie } from './request-caller.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The HTTP door of the pipeline: `POST /api/v1/actions/invoke/{name}`, answered with the bare output (catalogue 1.1). */
export function actionRoutes(app: FastifyInstance, core: () => Core, cookie: SessionCookie): void {
  app.post<{ Params: { name: string } }>('/api/v1/actions/invoke/:name', async (request, reply) => {
    const { name } = request.params
    const { pipeline, sessions } = core()
    const caller = await callerOfRequest(request, sessions, cookie)
    if (findAction(name)?.action.kind !== 'query') requireSameOrigin(request, caller, cookie)
    const output = await pipeline.invoke(caller, name, textOf(request.body), request.id)
    return reply.type('application/json; charset=utf-8').header('cache-control', 'no-store').send(output)
  })
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
