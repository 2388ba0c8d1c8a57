import type { IncomingMessage } from 'node:http'
import { finished, Readable } from 'node:stream'
import {
  type Action,
  ActionError,
  findAction,
  type LimitSubject,
  MAX_ACTION_BODY_BYTES,
} from '@muster/actions'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import type { Resource } from '../access/scope.ts'
import type { InputBudgets } from '../limits/input-budgets.ts'
import { actorId, personOf } from '../pipeline/caller.ts'
import type { Core } from '../pipeline/core.ts'
import { KnownBrowsers } from '../sessions/known-browsers.ts'
import {
  callerForResource,
  callerOfRequest,
  isForeignOrigin,
  refuseForeignOrigin,
  requireSameOrigin,
  type SessionCookie,
} from '../sessions/request-caller.ts'
import { compressed } from './compress.ts'

/** Largest body of an unauthenticated request, in bytes: enough for a form. Authenticated callers may send `MAX_ACTION_BODY_BYTES`. */
export const MAX_ANONYMOUS_BODY_BYTES = 64 * 1024

/** Largest body that is parsed before its sender is known, in bytes. Inputs of queries are mostly below it. */
const MAX_PEEKED_BYTES = 1024

/** Characters of ids. Any other text names no resource. */
const ID = /^[\w-]+$/

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The HTTP transport of the pipeline: `POST /api/v1/actions/invoke/{name}`, answered with the bare output (docs/api.md 1.1). */
export function actionRoutes(app: FastifyInstance, core: () => Core, cookie: SessionCookie): void {
  /**
   * Rejects large bodies of unauthenticated clients before they are buffered, and bounds those of a person. Many such requests could otherwise
   * fill the memory.
   */
  const preParsing = async (
    request: FastifyRequest,
    _reply: unknown,
    body: RequestPayload,
  ): Promise<RequestPayload> => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
    if (encoding === undefined && Number(length) <= MAX_ANONYMOUS_BODY_BYTES) return body
    const caller = await callerOfRequest(request, core().sessions, cookie)
    if (caller.actor === 'Anonymous') {
      if (encoding === undefined) throw tooLarge()
      return Readable.from(small(request.raw))
    }
    const person = personOf(caller)
    if (person === undefined) return body
    const room = bodyRoom(core().inputs, { userId: person.userId }, request.raw)
    if (encoding !== undefined) return Readable.from(counted(request.raw, room))
    room(Math.min(Number(length), MAX_ACTION_BODY_BYTES))
    return body
  }
  const knownBrowsers = new KnownBrowsers(core, cookie)
  const options = { bodyLimit: MAX_ACTION_BODY_BYTES, preParsing }
  app.post<{ Params: { name: string } }>('/api/v1/actions/invoke/:name', options, async (request, reply) => {
    const { name } = request.params
    const { pipeline, sessions } = core()
    const found = findAction(name)
    const resource = found && namedResource(found.action, request.body)
    const { caller, owned } = await callerForResource(request, sessions, cookie, resource)
    request.note = { actorId: actorId(caller), ...(found && { action: found.name }) }
    if (found?.action.kind !== 'query') requireSameOrigin(request, caller, cookie)
    // A page of another site cannot read the response of a query. But a query by an instance administrator writes an audit row, so a
    // foreign origin is refused for queries as well.
    else if (caller.actor === 'User') refuseForeignOrigin(request, cookie)
    const isRead = found?.action.kind === 'query' || found?.action.cost !== undefined
    let ownerId: string | undefined
    const onOwnerProved = (userId: string): void => {
      ownerId = userId
    }
    const text = textOf(request.body)
    const output = await pipeline.invoke(caller, name, text, request.id, {
      address: request.remote,
      browser: request.headers['user-agent'],
      onOwnerProved,
      owned,
      signal: isRead ? leavingSignal(reply) : undefined,
    })
    // An attacker's site could make a visitor's browser redeem a mailed link of the attacker's own account. In this case the
    // visitor's known-browser cookie must not be replaced.
    if (ownerId !== undefined && !isForeignOrigin(request, cookie))
      await knownBrowsers.remember(reply, ownerId)
    reply
      .type('application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('vary', 'accept-encoding')
    // A command has changed something, so its answer is never refused.
    const unread =
      found?.action.kind === 'query'
        ? core().answers.addResponse(caller, request.remote, output.length, reply.raw)
        : undefined
    // Responses with a secret stay uncompressed. Their compressed length would reveal whether other text in the response resembles
    // the secret (BREACH).
    if (found!.action.shownOnce.length > 0) return reply.send(output)
    const small = await compressed(output, request.headers['accept-encoding'])
    if (small && unread && !reply.raw.closed) unread.unreadBytes = small.bytes.length
    return small ? reply.header('content-encoding', small.encoding).send(small.bytes) : reply.send(output)
  })
}

/**
 * Resource whose owners decide about a query, from its body that is not checked yet. The owners are then found together with the caller.
 * Undefined for all other actions and bodies. Commands look their resource up later, after their audit row is committed.
 */
function namedResource({ kind, permission }: Action, body: unknown): Resource | undefined {
  if (kind !== 'query' || typeof permission === 'string' || permission.can === 'read') return undefined
  if (!Buffer.isBuffer(body) || body.length > MAX_PEEKED_BYTES) return undefined
  try {
    const id: unknown = JSON.parse(body.toString())[permission.id]
    return typeof id === 'string' && ID.test(id) ? { kind: permission.on, id } : undefined
  } catch {
    return undefined
  }
}

/** Signal that aborts when the client closes the connection before it has the response. */
function leavingSignal({ raw }: FastifyReply): AbortSignal {
  const leaving = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished)
      leaving.abort(new ActionError('Invalid', 'The client closed the request.', { status: 400 }))
  })
  return leaving.signal
}

/**
 * Takes memory for a body from the budget of its sender, until the body is read or its connection has ended. Throws `LimitReached`, or
 * `RateLimited` if the memory for all large inputs is used up.
 */
function bodyRoom(
  inputs: InputBudgets,
  subject: LimitSubject,
  request: IncomingMessage,
): (bytes: number) => void {
  let taken = 0
  finished(request, () => {
    inputs.release(subject, taken)
    taken = 0
  })
  return bytes => {
    inputs.require(subject, bytes)
    taken += bytes
  }
}

/** Streams a body without `Content-Length`, with room for each of its chunks. */
async function* counted(body: Readable, room: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    room((chunk as Buffer).length)
    yield chunk as Buffer
  }
}

/** Streams a body without `Content-Length`. Throws `Invalid` with 413 above `MAX_ANONYMOUS_BODY_BYTES`. */
async function* small(body: Readable): AsyncGenerator<Buffer> {
  let bytes = 0
  // Without this option, an error would destroy the connection, which is still needed for the response.
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

/** The body as text. An absent body becomes an empty string. Throws `Invalid` for bytes that are not UTF-8. */
export function textOf(body: unknown): string {
  if (!Buffer.isBuffer(body)) return ''
  try {
    return decoder.decode(body)
  } catch (cause) {
    throw new ActionError('Invalid', 'The body is not valid UTF-8.', { cause })
  }
}
