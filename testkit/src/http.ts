import type { TestHub, TestUser } from './test-hub.ts'

/** An HTTP response of the hub. */
export type Answer = {
  status: number
  headers: Headers
  text: string
  /** The parsed body; throws if it is not JSON. */
  json<T = Record<string, unknown>>(): T
}

/** Options of a request. With `as`, the request has the cookie of that person and an `Origin` header. */
export type AskOptions = {
  method?: string
  /** Request body, sent as JSON. Strings and bytes are sent unchanged. */
  body?: unknown
  as?: TestUser
  token?: string
  headers?: Record<string, string>
}

/** Sends one HTTP request to the hub. For tests of the status, headers and text of the response. */
export async function ask(
  { url }: Pick<TestHub, 'url'>,
  path: string,
  { method, body, as, token, headers }: AskOptions = {},
): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(`${url}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(as && { cookie: as.cookie, origin: url }),
      ...(token && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    redirect: 'manual',
    ...(body !== undefined && { body: (isRaw ? body : JSON.stringify(body)) as string }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: <T>() => JSON.parse(text) as T,
  }
}
