import type { IncomingMessage } from 'node:http'
import { ActionError, isLoopback } from '@muster/actions'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { isHealthPath, pathOf } from './paths.ts'

/** Longest part of a foreign `Host` header that an error repeats, in characters. */
const MAX_QUOTED_LENGTH = 100

/**
 * Host names under which the hub serves its console and accepts its cookie: the name in `MUSTER_PUBLIC_URL`, the names in
 * `MUSTER_HOSTS`, and all loopback names. Under any other name, a page of another site could use DNS rebinding to make the hub
 * part of that page's origin.
 */
export class ServedHosts {
  readonly #names: ReadonlySet<string>
  readonly #publicName: string

  constructor({ publicUrl, hosts }: Pick<Config, 'publicUrl' | 'hosts'>) {
    this.#publicName = new URL(publicUrl).hostname
    this.#names = new Set([this.#publicName, ...hosts])
  }

  /**
   * Throws `Invalid` with HTTP status 421 for a request under a foreign host. Health routes and API calls without
   * the session cookie are exempt. Requests with a bearer token are exempt too, because browsers never add one automatically.
   */
  refuseForeign(request: FastifyRequest, cookieName: string): void {
    const { host, authorization } = request.headers
    if (this.#has(host)) return
    const path = pathOf(request.url)
    if (isHealthPath(path)) return
    // Sign-in and sign-out ignore bearer tokens, so a token must not exempt them from the check.
    if (/^Bearer +\S/i.test(authorization ?? '') && !path.startsWith('/api/private/')) return
    if (path.startsWith('/api/v1/') && request.cookies[cookieName] === undefined) return
    const found = JSON.stringify((host ?? '').slice(0, MAX_QUOTED_LENGTH))
    throw new ActionError(
      'Invalid',
      `Found the host ${found}, expected ${this.#publicName}. The operator of this hub adds further names with MUSTER_HOSTS.`,
      { status: 421 },
    )
  }

  #has(hostHeader: string | undefined): boolean {
    const url = URL.parse(`http://${hostHeader ?? ''}`)
    return url !== null && (this.#names.has(url.hostname) || isLoopback(url.origin))
  }
}

/** True if a request has more than one `Host` header. The hub and a device could each use a different one (RFC 9112, 3.2). */
export function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]!.toLowerCase() === 'host') count++
  return count > 1
}

/** Error for a request with more than one `Host` header. */
export function twoHostsError(): ActionError {
  return new ActionError('Invalid', 'Found more than one Host header, expected one.')
}
