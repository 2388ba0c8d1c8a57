import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Jwts, PersonClaims } from '../credentials/jwts.ts'
import type { SessionCookie } from './request-caller.ts'

/** Time for which a browser counts as known to an account, in seconds: one year. */
const KNOWN_SECS = 365 * 24 * 60 * 60

/**
 * Cookie that marks a browser as known to an account. A browser gets it at a sign-in, or when it opens a link mailed to the owner
 * of the account. Failed sign-ins from a known browser are counted separately. The cookie is not a credential.
 */
export class KnownBrowsers {
  readonly #core: () => { jwts: Jwts }
  readonly #cookie: SessionCookie

  constructor(core: () => { jwts: Jwts }, cookie: SessionCookie) {
    this.#core = core
    this.#cookie = cookie
  }

  /** Account to which the request's browser is known, with the id of its failure count; undefined for an unknown browser. */
  of(request: FastifyRequest): Promise<PersonClaims | undefined> {
    return this.#core().jwts.verify('KnownBrowser', request.cookies[this.#name] ?? '')
  }

  /** Marks the browser of a request as known to an account. */
  async remember(reply: FastifyReply, userId: string): Promise<void> {
    const expiresAt = new Date(Date.now() + KNOWN_SECS * 1000)
    const claims = { jwtId: crypto.randomUUID(), userId }
    reply.setCookie(this.#name, await this.#core().jwts.sign('KnownBrowser', claims, expiresAt), {
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      secure: this.#cookie.isSecure,
      maxAge: KNOWN_SECS,
    })
  }

  get #name(): string {
    return `${this.#cookie.name}-known`
  }
}
