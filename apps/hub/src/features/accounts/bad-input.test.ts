import { ActionError, type ActionName } from '@muster/actions'
import { type TestHub, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANONYMOUS, type Caller } from '../../platform/pipeline/caller.ts'

let hub: TestHub
let admin: Caller
let count = 0

beforeAll(async () => {
  hub = await testHub()
  const { cookie } = await hub.user({ isAdmin: true })
  admin = await hub.sessions.callerOf({ cookie: cookie.split('=')[1]! })
})
afterAll(() => hub[Symbol.asyncDispose]())

/**
 * Runs an action and returns `ok`, or the paths of the issues in the input. A call in process has no client IP, so rate limits
 * per client IP do not apply.
 */
async function outcomeOf(name: ActionName, input: unknown): Promise<string> {
  const caller = name.startsWith('users_Create') ? admin : ANONYMOUS
  try {
    await hub.pipeline.invoke(caller, name, JSON.stringify(input), 'r')
    return 'ok'
  } catch (error) {
    if (!(error instanceof ActionError) || error.kind !== 'Invalid') throw error
    return (error.issues ?? []).map(({ path }) => path).join(' ')
  }
}

const registration = () => ({
  email: `person${++count}@example.test`,
  displayName: 'Grace Hopper',
  password: 'a staple of horses',
  consentedToTerms: true,
})

const INVALID_EMAILS: unknown[] = [
  undefined,
  null,
  '',
  '   ',
  42,
  true,
  {},
  ['a@b.c'],
  'plain',
  '@b.c',
  'a@',
  'a@b',
  'a@@b.c',
  'a b@c.d',
  'a@b.c\nBcc: everybody@example.test',
  'a@b.c,d@e.f',
  'a@b.c;d@e.f',
  '"A" <a@b.c>',
  '<script>alert(1)</script>@b.c',
  'a\0@b.c',
  '\ud800@b.c',
  `${'x'.repeat(251)}@b.c`,
  `${'x'.repeat(10_000)}@example.test`,
]

describe.each([
  'users_Register',
  'users_Create',
  'users_ResetPassword',
  'users_ResendRegistrationEmail',
] as const)('email of %s', action => {
  it.each(INVALID_EMAILS)('refuses %j', async email => {
    expect(await outcomeOf(action, { ...registration(), email })).toBe('email')
  })

  it.each([
    'o’brien+filter{}@example.test',
    'مثال@example.test',
    '\u202egro.elpmaxe@example.test',
    '漢字😀@例え.jp',
  ])('accepts %j', async email => {
    expect(await outcomeOf(action, { ...registration(), email: ` ${email}\t` })).toBe('ok')
  })
})

describe('displayName of users_Register', () => {
  it.each([
    '',
    '  ',
    '\u200b',
    'x'.repeat(65),
    'x'.repeat(10_000),
    'a\0b',
    'a\nb',
    '\u202eecarG',
    '\ud800',
    7,
    ['Grace'],
  ])('refuses %j, also a blank name (C9)', async displayName => {
    expect(await outcomeOf('users_Register', { ...registration(), displayName })).toMatch(/^displayName/)
  })

  it.each([
    undefined,
    null,
    '<img src=x onerror=alert(1)>',
    '👩🏽‍🚀',
    '😀'.repeat(64),
    '\'; drop table "user" --',
  ])('accepts %j', async displayName => {
    expect(await outcomeOf('users_Register', { ...registration(), displayName })).toBe('ok')
  })
})

describe('password of users_Register', () => {
  it.each([
    undefined,
    null,
    '',
    '       ',
    'short 7',
    '😀'.repeat(7),
    'x'.repeat(257),
    'x'.repeat(10_000),
    12345678,
    {},
  ])('refuses %j', async password => {
    expect(await outcomeOf('users_Register', { ...registration(), password })).toBe('password')
  })

  it.each(['        ', '<script>', '\u202edrowssap', '😀'.repeat(8), 'x'.repeat(256), 'a\0b\0c\0d\0e'])(
    'accepts %j',
    async password => {
      expect(await outcomeOf('users_Register', { ...registration(), password })).toBe('ok')
    },
  )
})

describe('consent of users_Register', () => {
  it.each([undefined, null, false, 'true', 1, {}])(
    'refuses %j as consent to the terms',
    async consentedToTerms => {
      expect(await outcomeOf('users_Register', { ...registration(), consentedToTerms })).toBe(
        'consentedToTerms',
      )
    },
  )

  it.each(['yes', 1, {}])('refuses %j as consent to marketing', async consentedToMarketing => {
    expect(await outcomeOf('users_Register', { ...registration(), consentedToMarketing })).toBe(
      'consentedToMarketing',
    )
  })

  it.each([undefined, null, true, false])(
    'accepts %j as consent to marketing',
    async consentedToMarketing => {
      expect(await outcomeOf('users_Register', { ...registration(), consentedToMarketing })).toBe('ok')
    },
  )
})

it('lists the issues of all invalid fields in one answer', async () => {
  expect(await outcomeOf('users_Register', { displayName: 'x'.repeat(65), email: 'x', password: 'x' })).toBe(
    'displayName email password consentedToTerms',
  )
})

it('does not let `__proto__` and `constructor` keys of the input change objects', async () => {
  const text = `{"__proto__": {"isAdmin": true}, "constructor": {"prototype": {"isAdmin": true}}, "isAdmin": true, ${JSON.stringify(registration()).slice(1)}`
  await hub.pipeline.invoke(ANONYMOUS, 'users_Register', text, 'r')
  const row = await hub.db
    .selectFrom('user')
    .where('email', '=', `person${count}@example.test`)
    .select(['is_admin', 'is_active'])
    .executeTakeFirstOrThrow()
  expect(row).toEqual({ is_admin: false, is_active: false })
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
})
