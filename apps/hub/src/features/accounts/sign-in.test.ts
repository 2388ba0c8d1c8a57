import {
  type Answer,
  ask,
  auditEvents,
  auditRows,
  clearAudit,
  mailedJwt,
  signIn,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { hash } from '@node-rs/argon2'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const PROXY_SECRET = 'only our proxy knows'
const REFUSED = 'Invalid username or password!'
const LIMITED = { kind: 'RateLimited', message: 'Too many requests: try again later.' }
const YEAR_SECS = 365 * 24 * 60 * 60

let hub: TestHub
let ada: TestUser
let address = 0

beforeAll(async () => {
  // With the proxy secret the tests can choose the client IP of each request.
  hub = await testHub({ trustedProxies: ['127.0.0.1'], proxySecret: PROXY_SECRET })
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  ada = await hub.user()
  await clearAudit(hub)
})

/** Headers of a client with a client IP that was not used before. */
function elsewhere(): Record<string, string> {
  address++
  return {
    'x-forwarded-for': `10.${(address >> 16) & 255}.${(address >> 8) & 255}.${address & 255}`,
    'x-muster-proxy-secret': PROXY_SECRET,
  }
}

function cookieOf({ headers }: Answer, name: string): string | undefined {
  return headers.getSetCookie().find(cookie => cookie.startsWith(`${name}=`))
}

/** The cookie that marks the browser as known to the account. */
function knownBrowser(answer: Answer): string {
  return cookieOf(answer, 'muster-known')!.split(';')[0]!
}

const statuses = (answers: Answer[], status: number): Answer[] =>
  answers.filter(answer => answer.status === status)

function expectLimited(answers: Answer[]): void {
  for (const answer of answers) {
    expect(answer.json()).toMatchObject(LIMITED)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(answer.headers.getSetCookie()).toEqual([])
  }
}

// Hashing hundreds of passwords takes long on a busy machine, hence the timeouts.
describe('a sign-in that fails', { timeout: 90_000 }, () => {
  it('is in the audit log with the email address, even if there is no such account', async () => {
    for (const email of [ada.email.toUpperCase(), ' nobody@test.example '])
      expect((await signIn(hub, email, 'wrong', elsewhere())).status).toBe(401)
    expect(await auditRows(hub)).toEqual(
      [ada.email.toUpperCase(), 'nobody@test.example'].map(email => ({
        action: 'users_InitiateSession',
        actor: { actor: 'Anonymous' },
        data: { email },
        status: 'Rejected',
      })),
    )
    expect(await auditEvents(hub)).toEqual([])
  })

  it('S14: is in the audit log without the typed address if it is not a valid one', async () => {
    const typed = ['correct horse battery', 'hunter2@home', 'a\0b\ud800', 'a@b.c, d@e.f', '']
    for (const email of typed) expect((await signIn(hub, email, 'wrong', elsewhere())).status).toBe(401)
    const rejected = { action: 'users_InitiateSession', data: {}, status: 'Rejected' }
    expect(await auditRows(hub)).toMatchObject(typed.map(() => rejected))
    expect((await auditRows(hub)).map(({ data }) => data)).toEqual(typed.map(() => ({})))
  })

  it('is limited per account from all addresses together, and refused attempts are not in the audit log', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, number) =>
        signIn(hub, number % 2 ? ada.email : ada.email.toUpperCase(), 'wrong', elsewhere()),
      ),
    )
    expect(statuses(answers, 401).length).toBeLessThanOrEqual(20)
    expect(statuses(answers, 401).length + statuses(answers, 429).length).toBe(200)
    for (const answer of statuses(answers, 429))
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    // Some of the 200 sign-ins may have been refused because too many passwords were waiting to be hashed. Such refusals do not
    // count towards the limit of the account. The 20 sign-ins below exhaust that limit in any case.
    for (let more = 0; more < 20; more++) await signIn(hub, ada.email, 'wrong', elsewhere())
    const beyond = await signIn(hub, ada.email, ada.password, elsewhere())
    expect(beyond.status).toBe(429)
    expectLimited([beyond])
    expect(await auditRows(hub)).toHaveLength(20)
    expect((await signIn(hub, (await hub.user()).email, 'wrong', elsewhere())).status).toBe(401)
  })

  it('is limited in the same way for an unknown account', async () => {
    const email = `nobody-${address}@test.example`
    const answers: Answer[] = []
    for (let attempt = 0; attempt < 25; attempt++)
      answers.push(await signIn(hub, attempt % 2 ? email : email.toUpperCase(), 'wrong', elsewhere()))
    expect(answers.map(answer => answer.status)).toEqual([...Array(20).fill(401), ...Array(5).fill(429)])
    expectLimited(statuses(answers, 429))
  })

  it('is limited per address over all accounts', async () => {
    const from = elsewhere()
    const answers: Answer[] = []
    for (let attempt = 0; attempt < 55; attempt++)
      answers.push(await signIn(hub, `${attempt}-${address}@test.example`, 'wrong', from))
    expect(answers.map(answer => answer.status)).toEqual([...Array(50).fill(401), ...Array(5).fill(429)])
    expectLimited(statuses(answers, 429))
    expectLimited([await signIn(hub, ada.email, ada.password, from)])
    expect((await signIn(hub, ada.email, ada.password, elsewhere())).status).toBe(200)
  })
})

describe('a sign-in that succeeds', { timeout: 90_000 }, () => {
  it('does not count against the limits', async () => {
    const from = elsewhere()
    for (let attempt = 0; attempt < 52; attempt++)
      expect((await signIn(hub, ada.email, ada.password, from)).status).toBe(200)
  })

  it('makes the browser known to the account for a year', async () => {
    const answer = await signIn(hub, ada.email, ada.password)
    const cookie = cookieOf(answer, 'muster-known')!
    expect(cookie.split('; ').slice(1)).toEqual([
      `Max-Age=${YEAR_SECS}`,
      'Path=/',
      'HttpOnly',
      'SameSite=Lax',
    ])
    const jwt = cookie.split(';')[0]!.slice('muster-known='.length)
    expect(await hub.jwts.verify('KnownBrowser', jwt)).toMatchObject({ userId: ada.userId })
    // The known-browser cookie is not a credential.
    const actor = await ask(hub, '/api/v1/actions/invoke/actor_GetActor', {
      body: {},
      headers: { cookie: cookie.split(';')[0]! },
    })
    expect(actor.json()).toEqual({ actor: { actor: 'Anonymous' } })
  })

  it('is possible from a known browser while an attacker fails on purpose', async () => {
    const cookie = knownBrowser(await signIn(hub, ada.email, ada.password, elsewhere()))
    for (let attempt = 0; attempt < 25; attempt++) await signIn(hub, ada.email, 'wrong', elsewhere())
    const from = elsewhere()
    expect((await signIn(hub, ada.email, ada.password, from)).status).toBe(429)
    expect((await signIn(hub, ada.email, ada.password, { ...from, cookie })).status).toBe(200)
  })

  it('S6: is possible again once the owner has opened a mailed link, even if the attack continues', async () => {
    const flood = async (): Promise<void> => {
      for (let attempt = 0; attempt < 21; attempt++) await signIn(hub, ada.email, 'wrong', elsewhere())
    }
    await flood()
    expect((await signIn(hub, ada.email, ada.password, elsewhere())).status).toBe(429)
    const password = 'a staple of horses'
    const open = async (headers: Record<string, string>) => {
      await hub.anonymous('users_ResetPassword', { email: ada.email })
      const resetToken = await mailedJwt(hub, 'PasswordReset', ada.email)
      const answer = await ask(hub, '/api/v1/actions/invoke/users_CompletePasswordReset', {
        body: { resetToken, password },
        headers: { ...elsewhere(), ...headers },
      })
      expect(answer.json()).toEqual({ result: 'Completed' })
      return answer
    }
    const answer = await open({})
    // The mailed link resets the account's count of failed sign-ins. It also makes the owner's browser a known browser, which
    // has a separate count.
    expect((await signIn(hub, ada.email, password, elsewhere())).status).toBe(200)
    await flood()
    expect((await signIn(hub, ada.email, password, elsewhere())).status).toBe(429)
    const from = { ...elsewhere(), cookie: knownBrowser(answer) }
    expect((await signIn(hub, ada.email, password, from)).status).toBe(200)
    // The response to a request from a page of another site sets no cookie in the visitor's browser.
    const foreign = await open({ origin: 'https://evil.example' })
    expect(foreign.headers.getSetCookie()).toEqual([])
  })

  it('S6: is possible from the browser that activated the account while an attacker fails on purpose', async () => {
    const email = `grace-${address}@test.example`
    const password = 'a staple of horses'
    await hub.anonymous('users_Register', { email, password, consentedToTerms: true })
    const body = { activationToken: await mailedJwt(hub, 'Activation', email) }
    const answer = await ask(hub, '/api/v1/actions/invoke/users_CompleteRegistration', { body })
    expect(answer.json()).toEqual({ result: 'Completed' })
    for (let attempt = 0; attempt < 21; attempt++) await signIn(hub, email, 'wrong', elsewhere())
    expect((await signIn(hub, email, password, elsewhere())).status).toBe(429)
    const from = { ...elsewhere(), cookie: knownBrowser(answer) }
    expect((await signIn(hub, email, password, from)).status).toBe(200)
    const again = await ask(hub, '/api/v1/actions/invoke/users_CompleteRegistration', { body })
    expect(again.json()).toEqual({ result: 'Failed' })
    expect(again.headers.getSetCookie()).toEqual([])
  })

  it('is possible from a known browser that shares its address with an attacker', async () => {
    const from = elsewhere()
    const cookie = knownBrowser(await signIn(hub, ada.email, ada.password, from))
    for (let attempt = 0; attempt < 50; attempt++)
      await signIn(hub, `${attempt}-${address}@test.example`, 'wrong', from)
    expect((await signIn(hub, ada.email, ada.password, from)).status).toBe(429)
    expect((await signIn(hub, ada.email, ada.password, { ...from, cookie })).status).toBe(200)
    // The cookie is valid only for the account that it was issued for.
    const { email, password } = await hub.user()
    expect((await signIn(hub, email, password, { ...from, cookie })).status).toBe(429)
  })

  it('is limited per known browser, without effect on other browsers', async () => {
    const first = knownBrowser(await signIn(hub, ada.email, ada.password, elsewhere()))
    const second = knownBrowser(await signIn(hub, ada.email, ada.password, elsewhere()))
    const tries: number[] = []
    for (let attempt = 0; attempt < 12; attempt++)
      tries.push((await signIn(hub, ada.email, 'wrong', { ...elsewhere(), cookie: first })).status)
    expect(tries).toEqual([...Array(10).fill(401), 429, 429])
    expect((await signIn(hub, ada.email, ada.password, { ...elsewhere(), cookie: second })).status).toBe(200)
    expect((await signIn(hub, ada.email, ada.password, elsewhere())).status).toBe(200)
  })

  it.each([
    [
      'of another account',
      async () => {
        const grace = await hub.user()
        return knownBrowser(await signIn(hub, grace.email, grace.password, elsewhere()))
      },
    ],
    ['that is forged', async () => `muster-known=${'x'.repeat(40)}.${'y'.repeat(40)}.${'z'.repeat(43)}`],
    [
      'that is a JWT for something else',
      async () => {
        const claims = { jwtId: crypto.randomUUID(), userId: ada.userId }
        return `muster-known=${await hub.jwts.sign('PasswordReset', claims, new Date(Date.now() + 60_000))}`
      },
    ],
    [
      'that has expired',
      async () => {
        const claims = { jwtId: crypto.randomUUID(), userId: ada.userId }
        return `muster-known=${await hub.jwts.sign('KnownBrowser', claims, new Date(Date.now() - 1000))}`
      },
    ],
  ])('does not come from a known browser if its cookie is one %s', async (_what, cookie) => {
    const headers = { cookie: await cookie() }
    for (let attempt = 0; attempt < 20; attempt++)
      expect((await signIn(hub, ada.email, 'wrong', { ...elsewhere(), ...headers })).status).toBe(401)
    expect((await signIn(hub, ada.email, ada.password, { ...elsewhere(), ...headers })).status).toBe(429)
  })

  it('replaces a hash with weaker parameters, once', async () => {
    const hashNow = async (): Promise<string | null> =>
      (
        await hub.db
          .selectFrom('user')
          .where('user_id', '=', ada.userId)
          .select('password_hash')
          .executeTakeFirstOrThrow()
      ).password_hash
    const weak = await hash(ada.password, { memoryCost: 1024, timeCost: 1 })
    await hub.db.updateTable('user').set({ password_hash: weak }).where('user_id', '=', ada.userId).execute()
    expect((await signIn(hub, ada.email, 'wrong', elsewhere())).status).toBe(401)
    expect(await hashNow()).toBe(weak)
    expect((await signIn(hub, ada.email, ada.password, elsewhere())).status).toBe(200)
    const strong = await hashNow()
    expect(strong).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect((await signIn(hub, ada.email, ada.password, elsewhere())).status).toBe(200)
    expect(await hashNow()).toBe(strong)
  })
})

describe('many sign-ins at once', { timeout: 90_000 }, () => {
  it('all succeed if there are twenty', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => signIn(hub, ada.email, ada.password, elsewhere())),
    )
    expect(statuses(answers, 200)).toHaveLength(20)
  })

  it('leave no session of the old password when the password changes meanwhile', async () => {
    for (let round = 0; round < 5; round++) {
      const person = await hub.user()
      const { userId, email, password } = person
      const [answers] = await Promise.all([
        Promise.all(Array.from({ length: 8 }, () => signIn(hub, email, password, elsewhere()))),
        person.invoke('users_SetPassword', { userId, password: 'a staple of horses' }),
      ])
      const sessions = await hub.db
        .selectFrom('session')
        .where('user_id', '=', userId)
        .select('session_id')
        .execute()
      expect(sessions).toHaveLength(1)
      for (const answer of answers) expect([200, 401]).toContain(answer.status)
      expect(await person.invoke('actor_GetActor', {})).toMatchObject({ actor: { actor: 'User' } })
    }
  })
})

describe('known and unknown accounts', { timeout: 90_000 }, () => {
  it('get the same answer to a wrong password', async () => {
    const [known, unknown] = [
      await signIn(hub, ada.email, 'wrong', elsewhere()),
      await signIn(hub, 'nobody@test.example', 'wrong', elsewhere()),
    ]
    const comparable = ({ status, text, headers }: Answer) => ({
      status,
      text: text.replace(/"requestId":"[^"]+"/, ''),
      headers: [...headers.keys()].sort(),
    })
    expect(comparable(known)).toEqual(comparable(unknown))
    expect(known.json()).toMatchObject({ message: REFUSED })
  })
})

describe('an invalid bearer token', () => {
  const actorWith = (token: string, headers: Record<string, string>): Promise<Answer> =>
    ask(hub, '/api/v1/actions/invoke/actor_GetActor', {
      body: {},
      headers: { ...headers, authorization: `Bearer ${token}` },
    })

  it('is limited per address; valid tokens and other addresses are not', async () => {
    const from = elsewhere()
    const good = await hub.userToken(ada)
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, number) => actorWith(`u_sk_${String(number).padStart(66, '1')}`, from)),
    )
    expect(statuses(answers, 200)).toHaveLength(100)
    expect(statuses(answers, 429)).toHaveLength(100)
    expectLimited(statuses(answers, 429))
    for (const token of ['x', 'deployment_1', good.slice(0, -1)])
      expect((await actorWith(token, from)).status).toBe(429)
    expect((await actorWith(good, from)).json()).toMatchObject({ actor: { actor: 'UserToken' } })
    expect((await actorWith('x', elsewhere())).json()).toEqual({ actor: { actor: 'Anonymous' } })
    const session = await ask(hub, '/api/v1/actions/invoke/actor_GetActor', {
      body: {},
      as: ada,
      headers: from,
    })
    expect(session.json()).toMatchObject({ actor: { actor: 'User' } })
  })
})
