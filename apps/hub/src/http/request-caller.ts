import { ActionError } from '@muster/actions'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../caller.ts'
import type { Sessions } from './sessions.ts'

/** Who a request speaks for: a user token in `Authorization` before a session cookie (catalogue 1.2). */
export function callerOfRequest(
  request: FastifyRequest,
  sessions: Sessions,
  cookieName: string,
): Promise<Caller> {
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  return sessions.callerOf({ bearer, cookie: request.cookies[cookieName] })
}

/**
 * Refuses what another site makes a browser send with the cookie: a write needs an `Origin` that is this host. Tokens need none,
 * since no browser adds them by itself. Throws `Forbidden`.
 */
export function requireSameOrigin(request: FastifyRequest, caller: Caller): void {
  if (caller.actor === 'User' && !isSameOrigin(request)) {
    throw new ActionError('Forbidden', 'The request does not come from this origin.')
  }
}

/** Whether a request without credentials yet, like sign-in, was not made by another site. */
export function refuseForeignOrigin(request: FastifyRequest): void {
  if (request.headers.origin !== undefined && !isSameOrigin(request)) {
    throw new ActionError('Forbidden', 'The request does not come from this origin.')
  }
}

function isSameOrigin(request: FastifyRequest): boolean {
  const { origin, host } = request.headers
  if (origin === undefined || host === undefined) return false
  try {
    return new URL(origin).host === host
  } catch {
    return false
  }
}
