import { describe, expect, it } from 'vitest'
import { createClient, errorOf } from './client.ts'
import { ActionError, ERROR_STATUS } from './errors.ts'

function answering(response: Response | Error) {
  const requests: { url: string; init: RequestInit }[] = []
  const fetch = (async (url: string, init: RequestInit) => {
    requests.push({ url, init })
    if (response instanceof Error) throw response
    return response
  }) as unknown as typeof globalThis.fetch
  return { fetch, requests }
}

const failed = (promise: Promise<unknown>): Promise<ActionError> =>
  promise.then(
    () => {
      throw new Error('it succeeded')
    },
    (error: ActionError) => error,
  )

describe('the client', () => {
  it('posts the input as JSON with the cookie and resolves to the output', async () => {
    const { fetch, requests } = answering(Response.json({ actor: { actor: 'Anonymous' } }))
    const invoke = createClient({ baseUrl: 'http://hub', headers: { authorization: 'Bearer x' }, fetch })
    expect(await invoke('actor_GetActor', {})).toEqual({ actor: { actor: 'Anonymous' } })
    expect(requests).toMatchObject([
      {
        url: 'http://hub/api/v1/actions/invoke/actor_GetActor',
        init: {
          method: 'POST',
          credentials: 'same-origin',
          headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
          body: '{}',
        },
      },
    ])
  })

  it('forwards an abort', async () => {
    const { fetch, requests } = answering(Response.json({}))
    const { signal } = new AbortController()
    await createClient({ fetch })('actor_GetActor', {}, { signal })
    expect(requests[0]?.init.signal).toBe(signal)
    expect(requests[0]?.url).toBe('/api/v1/actions/invoke/actor_GetActor')
  })

  it('rejects with the error of the hub', async () => {
    const body = { kind: 'Invalid', message: 'no', issues: [{ path: 'a', message: 'b' }], requestId: 'r' }
    const { fetch } = answering(Response.json(body, { status: 404, headers: { 'retry-after': '5' } }))
    const error = await failed(createClient({ fetch })('actor_GetActor', {}))
    expect(error).toBeInstanceOf(ActionError)
    expect(error).toMatchObject({ ...body, status: 404, retryAfterSecs: 5 })
  })

  it.each([
    ['an HTML page', '<!doctype html><title>Sign in</title>'],
    ['nothing', ''],
    ['half of an answer', '{"actor":'],
  ])('C2: reports in one sentence that %s with status 200 did not come from the hub', async (_what, text) => {
    const error = await failed(
      createClient({ fetch: answering(new Response(text)).fetch })('actor_GetActor', {}),
    )
    expect(error).toBeInstanceOf(ActionError)
    expect(error).toMatchObject({
      kind: 'Internal',
      status: 200,
      message: 'The hub could not be reached through its proxy (200).',
    })
  })

  it('C2: rejects with status 0 when a body breaks off', async () => {
    const broken = new ReadableStream({ start: controller => controller.error(new Error('gone')) })
    const error = await failed(
      createClient({ fetch: answering(new Response(broken)).fetch })('actor_GetActor', {}),
    )
    expect(error).toMatchObject({ status: 0, message: 'The hub could not be reached.' })
  })

  it('rejects with status 0 when the hub is out of reach', async () => {
    const cause = new TypeError('fetch failed')
    const error = await failed(createClient({ fetch: answering(cause).fetch })('actor_GetActor', {}))
    expect(error).toMatchObject({
      kind: 'Internal',
      status: 0,
      cause,
      message: 'The hub could not be reached.',
    })
  })
})

describe('the error of an answer', () => {
  it.each([
    ['of a proxy', '<html>Bad Gateway</html>'],
    ['that is empty', ''],
    ['that is no object', '"text"'],
    ['that is null', 'null'],
    ['with an unknown kind', '{"kind":"NotFound","message":"x"}'],
    ['with a kind from the prototype', '{"kind":"constructor","message":"x"}'],
    ['without a message', '{"kind":"Invalid"}'],
  ])('C2: %s is one sentence with its status', async (_what, text) => {
    const error = await errorOf(new Response(text, { status: 502, statusText: 'Bad Gateway' }))
    expect(error).toMatchObject({
      kind: 'Internal',
      status: 502,
      message: 'The hub could not be reached through its proxy (502).',
    })
  })

  it('keeps the beginning of a page that is not ours as its cause, else the text of the status', async () => {
    const error = await errorOf(new Response('x'.repeat(10_000), { status: 500 }))
    expect(error.cause).toBe('x'.repeat(200))
    const empty = await errorOf(new Response(null, { status: 308, statusText: 'Permanent Redirect' }))
    expect(empty.cause).toBe('Permanent Redirect')
  })

  it('survives a body that breaks off', async () => {
    const broken = new ReadableStream({ start: controller => controller.error(new Error('gone')) })
    expect(await errorOf(new Response(broken, { status: 500, statusText: 'x' }))).toMatchObject({
      status: 500,
    })
  })
})

describe('an action error', () => {
  it('has the status of its kind unless a more specific one is given', () => {
    for (const [kind, status] of Object.entries(ERROR_STATUS))
      expect(new ActionError(kind as keyof typeof ERROR_STATUS, 'x').status).toBe(status)
    expect(new ActionError('Invalid', 'x', { status: 409 }).status).toBe(409)
  })

  it('has no cause unless one is given', () => {
    expect('cause' in new ActionError('Invalid', 'x')).toBe(false)
    expect(new ActionError('Invalid', 'x', { cause: null })).toHaveProperty('cause', null)
  })
})
