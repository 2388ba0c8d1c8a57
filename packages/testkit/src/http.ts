import type { TestHub, TestUser } from './test-hub.ts'

/** What the hub answered, as it came. */
export type Answer = {
  status: number
  headers: Headers
  text: string
  /** The parsed body; throws when it is no JSON. */
  json<T = Record<string, unknown>>(): T
}

/** How to ask: JSON by a person with a cookie and their own origin unless told otherwise. */
export type AskOptions = {
  method?: string
  /** Sent as JSON; a string or bytes go as they are. */
  body?: unknown
  as?: TestUser
  token?: string
  headers?: Record<string, string>
}

/** One plain request to the hub's HTTP door, for tests that look at status, headers and text. */
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
