import type { ActionName } from '@muster/actions'
import { type Answer, ask, type TestHub, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const PASSWORD = 'a staple of horses'
const PROXY_SECRET = 'only our proxy knows'

let hub: TestHub
let count = 0

beforeAll(async () => {
  // The test acts as a trusted proxy, so it chooses client addresses by `X-Forwarded-For`.
  hub = await testHub({ trustedProxies: ['127.0.0.1'], proxySecret: PROXY_SECRET })
})
afterAll(() => hub[Symbol.asyncDispose]())

const anAddress = (): string => `10.0.${(++count >> 8) & 255}.${count & 255}`
const anEmail = (): string => `person${++count}@example.test`

const forwarded = (address: string): Record<string, string> => ({
  'x-forwarded-for': address,
  'x-muster-proxy-secret': PROXY_SECRET,
})

function invoke(name: ActionName, body: unknown, address: string): Promise<Answer> {
  return ask(hub, `/api/v1/actions/invoke/${name}`, { body, headers: forwarded(address) })
}

const limitedOf = (answers: Answer[]): Answer[] => answers.filter(answer => answer.status === 429)

function expectLimited(answers: Answer[], many: number): void {
  expect(limitedOf(answers)).toHaveLength(many)
  for (const answer of limitedOf(answers)) {
    expect(answer.json()).toMatchObject({
      kind: 'RateLimited',
      message: 'Too many requests: try again later.',
    })
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  }
}

const registration = (email: string) => ({ email, password: PASSWORD, consentedToTerms: true })

/** Actions without authentication: name, calls allowed per client IP address, and a function that makes a new input. */
const PER_ADDRESS: [ActionName, number, () => unknown][] = [
  ['users_Register', 20, () => registration(anEmail())],
  ['users_ResendRegistrationEmail', 20, () => ({ email: anEmail() })],
  ['users_ResetPassword', 20, () => ({ email: anEmail() })],
  ['users_CompleteRegistration', 30, () => ({ activationToken: `x${++count}` })],
  ['users_CompletePasswordReset', 30, () => ({ resetToken: `x${++count}`, password: PASSWORD })],
]

// The timeout is long, because 200 concurrent calls take long on a busy machine.
describe('from one address', { timeout: 90_000 }, () => {
  it.each(PER_ADDRESS)(
    'a burst of %s is limited to %i calls, and other addresses are not',
    async (name, calls, input) => {
      const from = anAddress()
      const answers = await Promise.all(Array.from({ length: 200 }, () => invoke(name, input(), from)))
      expectLimited(answers, 200 - calls)
      expect((await invoke(name, input(), anAddress())).status).toBe(200)
      const rows = await hub.db
        .selectFrom('audit_action')
        .where('action', '=', name)
        .select('status')
        .execute()
      // Calls beyond the rate write no audit row, so a flood does not fill the log.
      expect(rows).toHaveLength(calls + 1)
    },
  )
})

const resetPassword = (address: string): Promise<Answer> =>
  invoke('users_ResetPassword', { email: anEmail() }, address)

describe('the counted address', () => {
  it('of IPv6 is the /64 network, which belongs to one subscriber', async () => {
    const addressIn = (host: number): string =>
      host % 2 ? `2001:db8:0:1::${host.toString(16)}` : `2001:DB8::1:0:0:0:${host.toString(16)}`
    const answers = await Promise.all(Array.from({ length: 30 }, (_, host) => resetPassword(addressIn(host))))
    expectLimited(answers, 10)
    for (const other of ['2001:db8:0:2::1', '2001:db8::1', '2001:db8:1::', '::1'])
      expect((await resetPassword(other)).status, other).toBe(200)
  })

  it('of IPv4 is the same as an IPv4-mapped IPv6 address, and differs from its neighbours', async () => {
    const from = anAddress()
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, number) => resetPassword(number % 2 ? from : `::ffff:${from}`)),
    )
    expectLimited(answers, 10)
    expect((await resetPassword(`::ffff:${anAddress()}`)).status).toBe(200)
  })

  it('is that of the proxy for requests without the proxy secret, whatever X-Forwarded-For says', async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () =>
        ask(hub, '/api/v1/actions/invoke/users_ResetPassword', {
          body: { email: anEmail() },
          headers: { 'x-forwarded-for': anAddress() },
        }),
      ),
    )
    expectLimited(answers, 10)
  })

  it('is the last one in X-Forwarded-For, which the proxy added', async () => {
    const from = anAddress()
    const answers = await Promise.all(
      // A client can write any addresses into `X-Forwarded-For`, even that of a trusted proxy. The hub may use only the last entry, which
      // its proxy has added.
      Array.from({ length: 30 }, () => resetPassword(`${anAddress()}, 127.0.0.1, ${from}`)),
    )
    expectLimited(answers, 10)
  })
})

describe('a command without credentials', () => {
  const create = (address: string, headers = {}): Promise<Answer> =>
    ask(hub, '/api/v1/actions/invoke/organizations_Create', {
      body: { name: 'x' },
      headers: { ...forwarded(address), ...headers },
    })

  it('is audited, but limited per address so that a flood does not fill the audit log', async () => {
    const from = anAddress()
    const answers = await Promise.all(Array.from({ length: 120 }, () => create(from)))
    expectLimited(answers, 20)
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(100)
    const rows = await hub.db
      .selectFrom('audit_action')
      .where('action', '=', 'organizations_Create')
      .select('status')
      .execute()
    expect(rows).toEqual(Array(100).fill({ status: 'Rejected' }))
    expect((await create(anAddress())).status).toBe(401)
    const { cookie } = await hub.user()
    expect((await create(from, { cookie, origin: hub.url })).status).toBe(200)
  })
})

describe('for one account', { timeout: 90_000 }, () => {
  it('other people cannot use up the calls and links that its owner needs', async () => {
    const email = anEmail()
    const burst = (name: ActionName, input: unknown): Promise<Answer[]> =>
      Promise.all(Array.from({ length: 30 }, () => invoke(name, input, anAddress())))
    for (const name of ['users_Register', 'users_ResendRegistrationEmail'] as const)
      for (const { status } of await burst(name, registration(email))) expect(status, name).toBe(200)
    const [activation] = await hub.mailsTo(email, 5)
    const activationToken = jwtOf(activation!.link)
    expect((await invoke('users_CompleteRegistration', { activationToken }, anAddress())).json()).toEqual({
      result: 'Completed',
    })
    for (const { status } of await burst('users_ResetPassword', { email })) expect(status).toBe(200)
    const mails = await hub.mailsTo(email, 10)
    const links = mails.filter(({ link }) => link.includes('/set-password')).map(({ link }) => jwtOf(link))
    expect(links).toHaveLength(5)
    // Each mailed link works until any mailed link of the account was used.
    const used: unknown[] = []
    for (const resetToken of links)
      used.push(
        (await invoke('users_CompletePasswordReset', { resetToken, password: PASSWORD }, anAddress())).json(),
      )
    expect(used).toEqual([{ result: 'Completed' }, ...Array(4).fill({ result: 'InvalidToken' })])
  })
})

const jwtOf = (link: string): string => new URL(link).searchParams.get('jwt')!
