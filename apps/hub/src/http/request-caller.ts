import { ActionError } from '@muster/actions'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../caller.ts'
import type { Sessions } from './sessions.ts'

/** The cookie of sessions: its name says what it promises. */
export type SessionCookie = { name: string; isSecure: boolean }

/** Who a request speaks for: a user token in `Authorization` before a session cookie (catalogue 1.2). Throws `RateLimited`. */
export function callerOfRequest(
  request: FastifyRequest,
  sessions: Sessions,
  cookie: SessionCookie,
): Promise<Caller> {
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  return sessions.callerOf({ bearer, cookie: request.cookies[cookie.name], address: request.remote })
}

/**
 * Refuses what another site makes a browser send with the cookie: a write needs an `Origin` that is this host. Tokens need none,
 * since no browser adds them by itself. Throws `Forbidden`.
 */
export function requireSameOrigin(request: FastifyRequest, caller: Caller, cookie: SessionCookie): void {
  if (caller.actor === 'User' && !isSameOrigin(request, cookie)) {
    throw new ActionError('Forbidden', 'The request does not come from this origin.')
  }
}

/** Refuses what another site makes a browser send without credentials yet, like a sign-in. Throws `Forbidden`. */
export function refuseForeignOrigin(request: FastifyRequest, cookie: SessionCookie): void {
  if (request.headers.origin !== undefined && !isSameOrigin(request, cookie)) {
    throw new ActionError('Forbidden', 'The request does not come from this origin.')
  }
}

/** Whether `Origin` is the host that was asked, under HTTPS where the cookie is for HTTPS only. */
function isSameOrigin(request: FastifyRequest, { isSecure }: SessionCookie): boolean {
  const { origin, host } = request.headers
  const from = URL.parse(origin ?? '')
  return from !== null && from.host === host && (from.protocol === 'https:' || !isSecure)
}
