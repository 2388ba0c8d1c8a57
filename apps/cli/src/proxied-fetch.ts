import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Readable } from 'node:stream'
import { connectionsVia, type SiteProxy } from '@muster/link/site-proxy'

/** Timeout without any byte of an answer, in milliseconds, as of Node's own `fetch`. */
const SILENCE_MS = 300_000

/**
 * Returns a `fetch` for texts that connects through the proxy of a site, and directly if that fails. Without a proxy it is Node's own, which
 * takes no connections of others. Redirects are not followed, since neither the hub nor object stores answer with one.
 */
export function fetchVia(proxy: SiteProxy | undefined): typeof fetch {
  if (proxy === undefined) return fetch
  return async (input, { method = 'GET', headers, body, signal } = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const isTls = url.protocol === 'https:'
    const send = isTls ? requestHttps : requestHttp
    const route = { proxy, ...(signal && { signal }) }
    const request = send(url, {
      method,
      headers: {
        ...Object.fromEntries(new Headers(headers)),
        ...(typeof body === 'string' && { 'content-length': Buffer.byteLength(body) }),
      },
      ...(signal && { signal }),
      createConnection: connectionsVia(route, isTls),
    })
    request.setTimeout(SILENCE_MS, () =>
      request.destroy(new Error(`no answer within ${SILENCE_MS / 1000} s`)),
    )
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    request.once('response', resolve)
    request.on('error', reject)
    request.end(body)
    const answer = await promise
    const status = answer.statusCode ?? 0
    return new Response(status === 204 || status === 304 ? null : Readable.toWeb(answer), {
      status,
      statusText: answer.statusMessage ?? '',
      headers: Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      ),
    })
  }
}
