import { ActionError } from '@muster/actions'
import type { FastifyRequest } from 'fastify'
import type { Resource } from '../access/scope.ts'
import type { Caller } from '../pipeline/caller.ts'
import type { Sessions } from './sessions.ts'

/** Session cookie. Under HTTPS its name begins with `__Host-`: browsers accept such cookies only over HTTPS, without a domain. */
export type SessionCookie = { name: string; isSecure: boolean }

/**
 * Finds the caller of a request. A user token in `Authorization` has priority over a session cookie (docs/api.md 1.2). Throws
 * `RateLimited` after too many invalid tokens from the client's address.
 */
export function callerOfRequest(
  request: FastifyRequest,
  sessions: Sessions,
  cookie: SessionCookie,
): Promise<Caller> {
  return sessions.callerOf(credentialsOf(request, cookie))
}

/** Like `callerOfRequest`, and finds the owners of the resource that the request names, if the caller is a person. */
export function callerForResource(
  request: FastifyRequest,
  sessions: Sessions,
  cookie: SessionCookie,
  resource: Resource | undefined,
): ReturnType<Sessions['callerFor']> {
  return sessions.callerFor(credentialsOf(request, cookie), resource)
}

function credentialsOf(request: FastifyRequest, cookie: SessionCookie) {
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  return { bearer, cookie: request.cookies[cookie.name], address: request.remote }
}

/**
 * CSRF protection for writes that are authenticated by the session cookie. Throws `Forbidden` if `Origin` is not this host.
 * Requests with a user token need no `Origin`, because browsers never add a token automatically.
 */
export function requireSameOrigin(request: FastifyRequest, caller: Caller, cookie: SessionCookie): void {
  if (caller.actor === 'User' && !isSameOrigin(request, cookie)) {
    throw new ActionError('Forbidden', 'The request does not come from this origin.')
  }
}

/** Rejects requests from other sites on routes that need no credentials yet, such as sign-in. Throws `Forbidden`. */
export function refuseForeignOrigin(request: FastifyRequest, cookie: SessionCookie): void {
  if (isForeignOrigin(request, cookie)) {
    throw new ActionError('Forbidden', 'The request does not come from this origin.')
  }
}

/** True for a request from a page of another origin. */
export function isForeignOrigin(request: FastifyRequest, cookie: SessionCookie): boolean {
  return request.headers.origin !== undefined && !isSameOrigin(request, cookie)
}

/** True if the host of `Origin` is the requested host. If the cookie is for HTTPS only, `Origin` must also be an HTTPS origin. */
function isSameOrigin(request: FastifyRequest, { isSecure }: SessionCookie): boolean {
  const { origin, host } = request.headers
  const from = URL.parse(origin ?? '')
  return from !== null && from.host === host && (from.protocol === 'https:' || !isSecure)
}
