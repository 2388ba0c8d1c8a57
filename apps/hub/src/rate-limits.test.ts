import type { ActionName } from '@muster/actions'
import { type Answer, ask, type TestHub, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const PASSWORD = 'a staple of horses'

let hub: TestHub
let count = 0

beforeAll(async () => {
  // Behind a proxy of its own a test comes from wherever it says.
  hub = await testHub({ trustedProxies: ['127.0.0.1'] })
})
afterAll(() => hub[Symbol.asyncDispose]())

const anAddress = (): string => `10.0.${(++count >> 8) & 255}.${count & 255}`
const anEmail = (): string => `person${++count}@example.test`

function invoke(name: ActionName, body: unknown, address: string): Promise<Answer> {
  return ask(hub, `/api/v1/actions/invoke/${name}`, { body, headers: { 'x-forwarded-for': address } })
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

/** What anybody may call, so often from one address, with an input that is fresh each time. */
const PER_ADDRESS: [ActionName, number, () => unknown][] = [
  ['users_Register', 20, () => registration(anEmail())],
  ['users_ResendRegistrationEmail', 20, () => ({ email: anEmail() })],
  ['users_ResetPassword', 20, () => ({ email: anEmail() })],
  ['users_CompleteRegistration', 30, () => ({ activationToken: `x${++count}` })],
  ['users_CompletePasswordReset', 30, () => ({ resetToken: `x${++count}`, password: PASSWORD })],
]

// Two hundred calls at once take long on a busy machine.
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
      // What is limited leaves no trace, lest a flood fills the log.
      expect(rows).toHaveLength(calls + 1)
    },
  )
})

/** So often for one account, from wherever. */
const PER_ACCOUNT: [ActionName, number, (email: string) => unknown][] = [
  ['users_Register', 10, registration],
  ['users_ResendRegistrationEmail', 5, email => ({ email })],
  ['users_ResetPassword', 5, email => ({ email })],
]

describe('for one account', { timeout: 90_000 }, () => {
  it.each(PER_ACCOUNT)(
    'a burst of %s is limited to %i calls, in any case, from wherever it comes',
    async (name, calls, input) => {
      const email = anEmail()
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, number) =>
          invoke(name, input(number % 2 ? email : email.toUpperCase()), anAddress()),
        ),
      )
      expectLimited(answers, 200 - calls)
      expect((await invoke(name, input(anEmail()), anAddress())).status).toBe(200)
    },
  )
})
