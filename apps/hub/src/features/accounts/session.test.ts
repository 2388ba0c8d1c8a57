import { publicIdOf } from '@muster/actions'
import {
  type Answer,
  ask,
  auditEvents,
  type TestHub,
  type TestUser,
  testHub,
  withWrongEnd,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashSecret } from '../../platform/credentials/secrets.ts'

const REFUSED = 'Invalid username or password!'
const DAY_SECS = 24 * 60 * 60

let hub: TestHub
let ada: TestUser

beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user()
})
afterAll(() => hub[Symbol.asyncDispose]())

function login(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return ask(hub, '/api/private/login', { body, headers })
}

function credentials(more: object = {}): object {
  return { email: ada.email, password: ada.password, ...more }
}

type Cookie = { name: string; value: string; attributes: Record<string, string> }

/** Returns the session cookie. Other tests cover the cookie that marks known browsers. */
function cookieOf({ headers }: Answer): Cookie {
  const cookies = headers.getSetCookie().filter(cookie => !/^[\w-]+-known=/.test(cookie))
  expect(cookies).toHaveLength(1)
  const [pair, ...attributes] = cookies[0]!.split('; ')
  const [name, value] = pair!.split('=')
  return {
    name: name!,
    value: value!,
    attributes: Object.fromEntries(
      attributes.map(attribute => attribute.split('=')).map(([key, of]) => [key!, of ?? '']),
    ),
  }
}

async function actorOf(cookie: string, at: Pick<TestHub, 'url'> = hub): Promise<unknown> {
  const answer = await ask(at, '/api/v1/actions/invoke/actor_GetActor', { body: {}, headers: { cookie } })
  return (answer.json() as { actor: { actor: string } }).actor.actor
}

describe('signing in', () => {
  it('sets an HttpOnly cookie that ends with the browser session', async () => {
    const answer = await login(credentials({ remember: false }))
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({})
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const cookie = cookieOf(answer)
    expect(cookie).toEqual({
      name: 'muster',
      value: expect.stringMatching(/^u_session_sk_.{66}$/),
      attributes: { Path: '/', HttpOnly: '', SameSite: 'Lax' },
    })
    expect(await actorOf(`muster=${cookie.value}`)).toBe('User')
  })

  it.each([{ remember: true }, { rememberMe: true }])('with %j lasts 30 days', async remember => {
    const answer = await login(credentials(remember))
    const { attributes, value } = cookieOf(answer)
    expect(attributes).toEqual({ 'Max-Age': String(30 * DAY_SECS), Path: '/', HttpOnly: '', SameSite: 'Lax' })
    expect(await lifeOf(value)).toBeCloseTo(30 * DAY_SECS, -2)
  })

  it.each([{}, { remember: false }, { remember: null }, { rememberMe: false }])(
    'with %j lasts a day',
    async remember => {
      expect(await lifeOf(cookieOf(await login(credentials(remember))).value)).toBeCloseTo(DAY_SECS, -2)
    },
  )

  it('stores the session with its user agent and a hash of its secret, and writes an audit event', async () => {
    await hub.db.deleteFrom('audit_event').execute()
    const { value } = cookieOf(await login(credentials(), { 'user-agent': `Test/1.0 ${'x'.repeat(600)}` }))
    const session = await hub.db
      .selectFrom('session')
      .where('session_id', '=', publicIdOf(value))
      .selectAll()
      .executeTakeFirstOrThrow()
    expect(session).toMatchObject({ user_id: ada.userId, token_hash: hashSecret(value) })
    expect(session.user_agent).toMatch(/^Test\/1\.0 x+$/)
    expect(session.user_agent).toHaveLength(512)
    expect(JSON.stringify(session)).not.toContain(value)
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'users_SessionInitiated',
        actor: { actor: 'User', userId: ada.userId },
        data: { userId: ada.userId, sessionId: publicIdOf(value) },
      },
    ])
  })

  it('finds the email address in any case and with surrounding blanks', async () => {
    for (const email of [ada.email.toUpperCase(), `  ${ada.email}\n`])
      expect((await login(credentials({ email }))).status).toBe(200)
  })

  it('gives every session its own secret and ends the earlier session of the browser', async () => {
    const first = cookieOf(await login(credentials()))
    const second = cookieOf(await login(credentials(), { cookie: `muster=${first.value}` }))
    expect(second.value).not.toBe(first.value)
    expect(await actorOf(`muster=${first.value}`)).toBe('Anonymous')
    expect(await actorOf(`muster=${second.value}`)).toBe('User')
    const third = cookieOf(await login(credentials()))
    expect(await actorOf(`muster=${second.value}`)).toBe('User')
    expect(await actorOf(`muster=${third.value}`)).toBe('User')
  })

  it('does not adopt a secret that an attacker put into the browser', async () => {
    const planted = `u_session_sk_${'1'.repeat(66)}`
    const { value } = cookieOf(await login(credentials(), { cookie: `muster=${planted}` }))
    expect(value).not.toBe(planted)
    expect(await actorOf(`muster=${planted}`)).toBe('Anonymous')
  })
})

describe('a sign-in', () => {
  it.each([
    ['the wrong password', { password: 'wrong' }],
    ['the password in another case', { password: 'CORRECT HORSE BATTERY' }],
    ['a trailing blank in the password', { password: 'correct horse battery ' }],
    ['an empty password', { password: '' }],
    ['an unknown address', { email: 'nobody@test.example' }],
    ['an empty address', { email: '' }],
    ['NUL in the address', { email: 'a\0b' }],
    ['a lone surrogate in the address', { email: '\ud800' }],
    ['NUL in the password', { password: 'a\0b' }],
    ['SQL in the address', { email: "' or 1=1 --" }],
  ])('with %s is refused with the common message', async (_why, values) => {
    const answer = await login(credentials(values))
    expect(answer.status).toBe(401)
    expect(answer.json()).toEqual({
      kind: 'Forbidden',
      message: REFUSED,
      requestId: answer.headers.get('x-request-id'),
    })
    expect(answer.headers.getSetCookie()).toEqual([])
  })

  it('to a deactivated account or one without a password is refused with the common message', async () => {
    for (const values of [{ is_active: false }, { password_hash: null }]) {
      const user = await hub.user()
      await hub.db.updateTable('user').set(values).where('user_id', '=', user.userId).execute()
      const answer = await login({ email: user.email, password: user.password })
      expect(answer).toMatchObject({ status: 401 })
      expect(answer.json()).toMatchObject({ message: REFUSED })
    }
  })

  it('that fails leaves the current session of the browser open', async () => {
    await login(credentials({ password: 'wrong' }), { cookie: ada.cookie })
    expect(await actorOf(ada.cookie)).toBe('User')
  })

  it.each([
    ['is not JSON', '{"email"'],
    ['is empty', ''],
    ['is null', 'null'],
    ['is a list', '[]'],
    ['lacks the password', '{"email":"a"}'],
    ['has a number for a password', '{"email":"a","password":1}'],
    ['has text for a flag', '{"email":"a","password":"b","remember":"yes"}'],
    ['has a password of 1025 characters', JSON.stringify({ email: 'a', password: 'x'.repeat(1025) })],
    ['has 60,000 nested arrays', '['.repeat(60_000)],
  ])('is Invalid if its body %s', async (_why, body) => {
    const answer = await login(body)
    expect(answer.status).toBe(400)
    expect(answer.json()).toMatchObject({ kind: 'Invalid', message: expect.any(String) })
  })
})

describe('a sign-in from another site', () => {
  it.each(['https://evil.example', 'null', 'http://127.0.0.1', 'http://127.0.0.1:1', 'file://', 'not a URL'])(
    'is refused: %s',
    async origin => {
      const answer = await login(credentials(), { origin })
      expect(answer.status).toBe(403)
      expect(answer.headers.getSetCookie()).toEqual([])
    },
  )

  it('does not mean one from the own origin, or from a program that sends no Origin', async () => {
    expect((await login(credentials(), { origin: hub.url })).status).toBe(200)
    expect((await login(credentials())).status).toBe(200)
  })

  it('cannot use a form, because only JSON is accepted', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      expect((await login(JSON.stringify(credentials()), { 'content-type': type })).status).toBe(415)
  })
})

describe('signing out', () => {
  it('ends the session at once, clears the cookie and writes an audit event', async () => {
    const { value } = cookieOf(await login(credentials()))
    const cookie = `muster=${value}`
    expect(await actorOf(cookie)).toBe('User')
    await hub.db.deleteFrom('audit_event').execute()
    const answer = await ask(hub, '/api/private/logout', {
      method: 'POST',
      headers: { cookie, origin: hub.url },
    })
    expect(answer.status).toBe(200)
    expect(cookieOf(answer)).toMatchObject({
      name: 'muster',
      value: '',
      attributes: { Path: '/', Expires: expect.stringContaining('1970') },
    })
    expect(await actorOf(cookie)).toBe('Anonymous')
    const event = {
      event: 'users_SessionTerminated',
      actor: { actor: 'User', userId: ada.userId },
      data: { userId: ada.userId, sessionId: publicIdOf(value) },
    }
    expect(await auditEvents(hub)).toMatchObject([event])
    await ask(hub, '/api/private/logout', { method: 'POST', headers: { cookie } })
    expect(await auditEvents(hub)).toHaveLength(1)
  })

  it('is no error without a session, with or without a body', async () => {
    for (const headers of [{}, { cookie: 'muster=x' }, { cookie: `muster=u_session_sk_${'1'.repeat(66)}` }])
      expect(
        (await ask(hub, '/api/private/logout', { method: 'POST', headers: headers as never })).status,
      ).toBe(200)
    expect((await ask(hub, '/api/private/logout', { body: {} })).status).toBe(200)
  })

  it('is refused from another site', async () => {
    const { value } = cookieOf(await login(credentials()))
    const headers = { cookie: `muster=${value}`, origin: 'https://evil.example' }
    const answer = await ask(hub, '/api/private/logout', { method: 'POST', headers })
    expect(answer.status).toBe(403)
    expect(await actorOf(`muster=${value}`)).toBe('User')
  })

  it('leaves other sessions of the same person open', async () => {
    const first = cookieOf(await login(credentials()))
    const second = cookieOf(await login(credentials()))
    await ask(hub, '/api/private/logout', { method: 'POST', headers: { cookie: `muster=${first.value}` } })
    expect(await actorOf(`muster=${second.value}`)).toBe('User')
  })
})

describe('a credential', () => {
  it('is accepted only in its own place: a session as a cookie, a token as a bearer', async () => {
    const session = ada.cookie.split('=')[1]!
    const token = await hub.userToken(ada)
    expect(await actorOf(ada.cookie)).toBe('User')
    expect(await hub.withToken(token)('actor_GetActor', {})).toMatchObject({ actor: { actor: 'UserToken' } })
    expect(await hub.withToken(session)('actor_GetActor', {})).toEqual({ actor: { actor: 'Anonymous' } })
    expect(await actorOf(`muster=${token}`)).toBe('Anonymous')
  })

  it('in the Authorization header takes precedence over the cookie, even if it is wrong', async () => {
    const grace = await hub.user()
    const token = await hub.userToken(grace)
    const actor = async (authorization: string): Promise<unknown> =>
      (
        await ask(hub, '/api/v1/actions/invoke/actor_GetActor', {
          body: {},
          headers: { authorization, cookie: ada.cookie },
        })
      ).json<{ actor: object }>().actor
    expect(await actor(`Bearer ${token}`)).toMatchObject({ actor: 'UserToken', userId: grace.userId })
    expect(await actor(`bearer   ${token}`)).toMatchObject({ actor: 'UserToken' })
    expect(await actor(`Bearer ${withWrongEnd(token)}`)).toEqual({ actor: 'Anonymous' })
    expect(await actor('Basic YTpi')).toMatchObject({ actor: 'User', userId: ada.userId })
  })

  it('with the right public id and a wrong secret is refused', async () => {
    const session = ada.cookie.split('=')[1]!
    const wrong = withWrongEnd(session)
    expect(publicIdOf(wrong)).toBe(publicIdOf(session))
    expect(await actorOf(`muster=${wrong}`)).toBe('Anonymous')
  })
})

describe('a hub under HTTPS', () => {
  it('uses a Secure cookie with the __Host- prefix and accepts writes only from HTTPS pages', async () => {
    await using secure = await testHub({ publicUrl: 'https://hub.example' })
    const user = await secure.user()
    const body = { email: user.email, password: user.password, remember: true }
    const answer = await ask(secure, '/api/private/login', { body })
    const { name, value, attributes } = cookieOf(answer)
    expect(name).toBe('__Host-muster')
    expect(attributes).toEqual({
      'Max-Age': String(30 * DAY_SECS),
      Path: '/',
      HttpOnly: '',
      Secure: '',
      SameSite: 'Lax',
    })
    expect(await actorOf(`__Host-muster=${value}`, secure)).toBe('User')
    expect(await actorOf(`muster=${value}`, secure)).toBe('Anonymous')
    const write = async (origin: string): Promise<number> =>
      (
        await ask(secure, '/api/v1/actions/invoke/organizations_Create', {
          body: { name: 'x' },
          headers: { cookie: `__Host-muster=${value}`, origin },
        })
      ).status
    expect(await write(secure.url)).toBe(403)
    expect(await write(secure.url.replace('http:', 'https:'))).toBe(200)
    const out = await ask(secure, '/api/private/logout', {
      method: 'POST',
      headers: { cookie: `__Host-muster=${value}` },
    })
    expect(cookieOf(out)).toMatchObject({ name: '__Host-muster', attributes: { Secure: '', Path: '/' } })
  })
})

async function lifeOf(token: string): Promise<number> {
  const { expires_at, created_at } = await hub.db
    .selectFrom('session')
    .where('session_id', '=', publicIdOf(token))
    .select(['expires_at', 'created_at'])
    .executeTakeFirstOrThrow()
  return (expires_at.getTime() - created_at.getTime()) / 1000
}
