import { connect } from 'node:net'
import { type Action, actions, MAX_ACTION_BODY_BYTES, newId } from '@muster/actions'
import { ask, capturedLog, signIn, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const PATH = '/api/v1/actions/invoke'
const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/

const captured = capturedLog()
let hub: TestHub
let ada: TestUser
let organizationId: string

beforeAll(async () => {
  hub = await testHub({}, captured.log)
  ada = await hub.user()
  organizationId = await hub.organization(ada)
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Sends raw bytes and returns the response: up to its `Content-Length`, or up to the end of the connection. */
async function raw(text: string): Promise<string> {
  const socket = connect(hub.address.port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8')
  socket.on('data', chunk => {
    answer += chunk
    const [, length, body] = /\r\ncontent-length: (\d+)\r\n.*?\r\n\r\n(.*)$/is.exec(answer) ?? []
    if (body !== undefined && body.length >= Number(length)) socket.destroy()
  })
  socket.on('error', () => {})
  socket.write(text)
  await new Promise(done => socket.once('close', done))
  return answer
}

describe('an action over HTTP', () => {
  it('returns the bare output with `Cache-Control: no-store`', async () => {
    const answer = await ask(hub, `${PATH}/actor_GetActor`, { as: ada, body: {} })
    expect(answer.status).toBe(200)
    const { sessionId } = await ada.invoke('actor_GetActor', {})
    expect(answer.text).toBe(`{"actor":{"actor":"User","userId":"${ada.userId}"},"sessionId":"${sessionId}"}`)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'S20: answers %s with 405 and `Allow: POST`',
    async method => {
      const answer = await ask(hub, `${PATH}/actor_GetActor`, { method })
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toBe('POST')
    },
  )

  it('gets a request id from the hub, even if the client sends one', async () => {
    const answers = [
      await ask(hub, `${PATH}/actor_GetActor`, {
        body: {},
        headers: { 'x-request-id': 'mine', 'request-id': 'mine' },
      }),
      await ask(hub, `${PATH}/devices_Nothing`, { body: {} }),
      await ask(hub, '/healthz'),
    ]
    const ids = answers.map(({ headers }) => headers.get('x-request-id'))
    for (const id of ids) expect(id).toMatch(REQUEST_ID)
    expect(new Set(ids).size).toBe(3)
  })

  it('treats an absent or empty body as `{}`', async () => {
    for (const options of [
      { method: 'POST' },
      { method: 'POST', headers: { 'content-type': 'application/json' } },
      { body: '' },
      { body: ' \n' },
    ])
      expect((await ask(hub, `${PATH}/actor_GetActor`, options)).text).toBe('{"actor":{"actor":"Anonymous"}}')
  })

  it('accepts JSON with a byte-order mark and with chunked encoding', async () => {
    expect((await ask(hub, `${PATH}/actor_GetActor`, { body: '\ufeff{}' })).status).toBe(200)
    const chunked =
      `POST ${PATH}/actor_GetActor HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n'
    expect(await raw(chunked)).toContain('{"actor":{"actor":"Anonymous"}}')
  })
})

describe('an error', () => {
  it('contains only a kind, a message and the request id', async () => {
    const answer = await ask(hub, `${PATH}/organizations_QueryProjects`, { body: { organizationId } })
    expect(answer.status).toBe(401)
    expect(answer.json()).toEqual({
      kind: 'Forbidden',
      message: 'You are not permitted to do this.',
      requestId: answer.headers.get('x-request-id'),
    })
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  })

  it('about an invalid input lists every issue with its path', async () => {
    const answer = await ask(hub, `${PATH}/organizations_QueryProjects`, {
      as: ada,
      body: { organizationId: 'org_1', limit: 0, filter: { text: 7 } },
    })
    expect(answer.status).toBe(400)
    const { issues, ...rest } = answer.json<{ issues: { path: string; message: string }[] }>()
    expect(Object.keys(rest).sort()).toEqual(['kind', 'message', 'requestId'])
    expect(issues.map(({ path }) => path)).toEqual(['organizationId', 'limit', 'filter.text'])
    for (const issue of issues) expect(Object.keys(issue).sort()).toEqual(['message', 'path'])
  })

  it.each([
    ['an unknown action', 'POST', `${PATH}/devices_Rename`, 404],
    ['a name from the prototype', 'POST', `${PATH}/constructor`, 404],
    ['a name from the prototype', 'POST', `${PATH}/__proto__`, 404],
    ['an empty name', 'POST', `${PATH}/`, 404],
    ['a name with a slash', 'POST', `${PATH}/devices/SetName`, 404],
    ['a name of 1000 characters', 'POST', `${PATH}/${'x'.repeat(1_000)}`, 414],
    ['a method other than POST', 'GET', `${PATH}/actor_GetActor`, 405],
    ['a method other than POST', 'DELETE', `${PATH}/actor_GetActor`, 405],
    ['GET of an unknown action', 'GET', `${PATH}/actor_Nothing`, 404],
    ['an unknown path of the API', 'GET', '/api/v2/actions', 404],
    ['an unknown path of the API', 'POST', '/api/private/signup', 404],
    ['the root of the API', 'GET', '/api', 404],
    ['the root of the API', 'GET', '/api/', 404],
    ['the gateway without an upgrade', 'GET', '/api/v1/connect/ws', 426],
    ['a path that cannot be decoded', 'POST', `${PATH}/%E0%A4%A`, 400],
    ['a path that cannot be decoded', 'GET', '/%', 400],
  ])('for %s is Invalid: %s %s', async (_what, method, path, status) => {
    const answer = await ask(hub, path, { method })
    expect(answer.status).toBe(status)
    expect(answer.json()).toEqual({
      kind: 'Invalid',
      message: expect.any(String),
      requestId: expect.stringMatching(REQUEST_ID),
    })
    expect(answer.headers.get('x-request-id')).toBe(answer.json().requestId)
    expect(answer.text.length).toBeLessThan(500)
  })

  it.each([
    ['is not JSON', '{"a"', 400],
    ['is not an object', '[]', 400],
    ['is not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), 400],
    ['ends inside a UTF-8 sequence', new Uint8Array([0x7b, 0x7d, 0xe2, 0x82]), 400],
    ['has an overlong UTF-8 sequence', new Uint8Array([0xc0, 0xaf]), 400],
    ['is nested too deep', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`, 400],
  ])('for a body that %s is Invalid', async (_what, body, status) => {
    const answer = await ask(hub, `${PATH}/actor_GetActor`, { as: ada, body })
    expect(answer.status).toBe(status)
    expect(answer.json()).toMatchObject({ kind: 'Invalid', requestId: expect.stringMatching(REQUEST_ID) })
  })

  it('for a body over 8 MiB is 413, with or without Content-Length; a body of 8 MiB is read', async () => {
    const body = (bytes: number): string => `{"more":"${'x'.repeat(bytes - 11)}"}`
    const sent = (bytes: number, as?: TestUser) =>
      ask(hub, `${PATH}/actor_GetActor`, { ...(as && { as }), body: body(bytes) })
    const largest = await sent(MAX_ACTION_BODY_BYTES, ada)
    expect(largest.status).toBe(200)
    expect((await sent(64 * 1024)).status).toBe(200)
    const withoutCredentials = await sent(64 * 1024 + 1)
    expect(withoutCredentials.status).toBe(413)
    expect(withoutCredentials.json()).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('credentials'),
    })
    const tooLarge = await sent(MAX_ACTION_BODY_BYTES + 1, ada)
    expect(tooLarge.status).toBe(413)
    expect(tooLarge.json()).toEqual({
      kind: 'Invalid',
      message: `The body is larger than ${MAX_ACTION_BODY_BYTES} bytes.`,
      requestId: expect.stringMatching(REQUEST_ID),
    })
    const head = `POST ${PATH}/actor_GetActor HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
    const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
    expect(await raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(9)}`)).toMatch(
      /^HTTP\/1\.1 413 /,
    )
    expect(await raw(`${head}Content-Length: 99999999999\r\n\r\n`)).toMatch(/^HTTP\/1\.1 413 /)
  })

  it('for bytes that are not HTTP closes only that connection', async () => {
    for (const junk of [
      '\0\0\0\0\r\n\r\n',
      'GET\r\n\r\n',
      `GET / HTTP/1.1\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`,
    ])
      expect(await raw(junk)).toMatch(/^HTTP\/1\.1 4\d\d |^$/)
    expect((await ask(hub, '/healthz')).status).toBe(200)
  })

  it('of the database is answered without its text', async () => {
    await using broken = await testHub()
    await broken.db.destroy()
    const answer = await ask(broken, `${PATH}/organizations_Query`, { as: ada, body: {} })
    expect(answer.status).toBe(500)
    expect(answer.json()).toEqual({
      kind: 'Internal',
      message: 'Something went wrong on the hub.',
      requestId: expect.stringMatching(REQUEST_ID),
    })
  })
})

describe('a content type', () => {
  it.each([
    'text/plain',
    'text/plain; charset=application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/json-patch+json',
    'text/json',
    'application/xml',
    '*/*',
  ])('other than JSON is refused: %s', async type => {
    const answer = await ask(hub, `${PATH}/actor_GetActor`, {
      as: ada,
      body: '{}',
      headers: { 'content-type': type },
    })
    expect(answer.status).toBe(415)
    expect(answer.json()).toMatchObject({ kind: 'Invalid', requestId: expect.stringMatching(REQUEST_ID) })
  })

  it('is required', async () => {
    const answer = await raw(
      `POST ${PATH}/actor_GetActor HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 415 /)
  })

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8'])(
    'of JSON is accepted in any spelling: %s',
    async type => {
      const answer = await ask(hub, `${PATH}/actor_GetActor`, {
        body: '{}',
        headers: { 'content-type': type },
      })
      expect(answer.status).toBe(200)
    },
  )
})

describe('a cross-site request', () => {
  const origins = [
    ['no origin', undefined],
    ['another host', 'https://evil.example'],
    ['an opaque origin', 'null'],
    ['another port', 'http://127.0.0.1:1'],
    ["a host with the hub's as its prefix", 'http://127.0.0.1.evil.example'],
    ['text that is not a URL', 'hub'],
  ] as const
  const writes = (Object.entries(actions) as [string, Action][]).filter(([, { kind }]) => kind !== 'query')

  it.each(writes)('that writes is refused before its input is read, without an audit row: %s', async name => {
    const countRows = () =>
      hub.db
        .selectFrom('audit_action')
        .where('action', '=', name)
        .select(({ fn }) => fn.countAll<string>().as('count'))
        .executeTakeFirstOrThrow()
    const before = await countRows()
    for (const [what, origin] of origins) {
      const answer = await ask(hub, `${PATH}/${name}`, {
        body: {},
        headers: { cookie: ada.cookie, ...(origin !== undefined && { origin }) },
      })
      expect(answer.status, what).toBe(403)
      expect(answer.json().message).toBe('The request does not come from this origin.')
    }
    expect(await countRows()).toEqual(before)
  })

  it('is refused under an older name of the action too', async () => {
    const answer = await ask(hub, `${PATH}/projects_CreateProject`, {
      body: { organizationId, name: 'x' },
      headers: { cookie: ada.cookie, origin: 'https://evil.example' },
    })
    expect(answer.status).toBe(403)
  })

  it('is refused for queries too, because some of them write an audit row', async () => {
    const headers = { cookie: ada.cookie, origin: 'https://evil.example' }
    expect((await ask(hub, `${PATH}/organizations_Query`, { method: 'POST', headers })).status).toBe(403)
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'cannot be a form of type %s, which browsers send without a preflight',
    async type => {
      const headers = { 'content-type': type, origin: hub.url }
      const body = JSON.stringify({ name: 'Planted by a form' })
      const answer = await ask(hub, `${PATH}/organizations_Create`, { as: ada, body, headers })
      expect(answer.status).toBe(415)
      const made = await hub.db
        .selectFrom('organization')
        .where('name', '=', 'Planted by a form')
        .selectAll()
        .execute()
      expect(made).toEqual([])
    },
  )

  it('does not mean requests from the own page, nor those with a token, which browsers never add', async () => {
    const body = { organizationId, name: 'x' }
    expect((await ask(hub, `${PATH}/projects_Create`, { as: ada, body })).status).toBe(200)
    const token = await hub.userToken(ada)
    for (const headers of [{}, { origin: 'https://tool.example' }, { cookie: ada.cookie }])
      expect(
        (await ask(hub, `${PATH}/projects_Create`, { body, token, headers: headers as never })).status,
      ).toBe(200)
  })

  it('cannot read its answer: no answer has an `Access-Control` header', async () => {
    const preflight = await ask(hub, `${PATH}/projects_Create`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    const read = await ask(hub, `${PATH}/actor_GetActor`, {
      body: {},
      headers: { cookie: ada.cookie, origin: 'https://evil.example' },
    })
    for (const { headers } of [preflight, read])
      expect([...headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([])
    expect(preflight.status).toBeGreaterThanOrEqual(400)
  })
})

it('logs ordinary refusals below `warn`, and never a secret', async () => {
  captured.lines.length = 0
  const token = await hub.userToken(ada)
  await ask(hub, `${PATH}/devices_GetDetails`, { token, body: { deviceId: newId('d') } })
  await signIn(hub, ada.email, 'hunter2hunter2')
  expect(captured.lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([])
  const text = JSON.stringify(captured.lines)
  for (const secret of [token, ada.cookie.split('=')[1]!, 'hunter2hunter2'])
    expect(text).not.toContain(secret)
})
