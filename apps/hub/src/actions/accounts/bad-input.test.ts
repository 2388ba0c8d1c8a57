import { ActionError, type ActionName } from '@muster/actions'
import { type TestHub, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANONYMOUS, type Caller } from '../../caller.ts'

let hub: TestHub
let admin: Caller
let count = 0

beforeAll(async () => {
  hub = await testHub()
  const { cookie } = await hub.user({ isAdmin: true })
  admin = await hub.sessions.callerOf({ cookie: cookie.split('=')[1]! })
})
afterAll(() => hub[Symbol.asyncDispose]())

/** What the hub says to an input: `ok`, or the fields that it complains about. In process, where no address is counted. */
async function told(name: ActionName, input: unknown): Promise<string> {
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

const ADDRESSES_THAT_ARE_NONE: unknown[] = [
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
] as const)('the address of %s', action => {
  it.each(ADDRESSES_THAT_ARE_NONE)('is refused: %j', async email => {
    expect(await told(action, { ...registration(), email })).toBe('email')
  })

  it.each([
    'o’brien+filter{}@example.test',
    'مثال@example.test',
    '\u202egro.elpmaxe@example.test',
    '漢字😀@例え.jp',
  ])('is taken: %j', async email => {
    expect(await told(action, { ...registration(), email: ` ${email}\t` })).toBe('ok')
  })
})

describe('the name of users_Register', () => {
  it.each(['', '  ', '\u200b', 'x'.repeat(65), 'x'.repeat(10_000), 'a\0b', 'a\nb', '\ud800', 7, ['Grace']])(
    'is refused (C9: when blank as well): %j',
    async displayName => {
      expect(await told('users_Register', { ...registration(), displayName })).toMatch(/^displayName/)
    },
  )

  it.each([
    undefined,
    null,
    '<img src=x onerror=alert(1)>',
    '\u202eecarG',
    '👩🏽‍🚀',
    '😀'.repeat(64),
    '\'; drop table "user" --',
  ])('is taken: %j', async displayName => {
    expect(await told('users_Register', { ...registration(), displayName })).toBe('ok')
  })
})

describe('the password of users_Register', () => {
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
  ])('is refused: %j', async password => {
    expect(await told('users_Register', { ...registration(), password })).toBe('password')
  })

  it.each(['        ', '<script>', '\u202edrowssap', '😀'.repeat(8), 'x'.repeat(256), 'a\0b\0c\0d\0e'])(
    'is taken: %j',
    async password => {
      expect(await told('users_Register', { ...registration(), password })).toBe('ok')
    },
  )
})

describe('the consent of users_Register', () => {
  it.each([undefined, null, false, 'true', 1, {}])('to the terms is needed: %j', async consentedToTerms => {
    expect(await told('users_Register', { ...registration(), consentedToTerms })).toBe('consentedToTerms')
  })

  it.each(['yes', 1, {}])('to marketing is yes or no: %j', async consentedToMarketing => {
    expect(await told('users_Register', { ...registration(), consentedToMarketing })).toBe(
      'consentedToMarketing',
    )
  })

  it.each([undefined, null, true, false])('to marketing may be left out: %j', async consentedToMarketing => {
    expect(await told('users_Register', { ...registration(), consentedToMarketing })).toBe('ok')
  })
})

it('every field of a form that is wrong is told at once', async () => {
  expect(await told('users_Register', { displayName: 'x'.repeat(65), email: 'x', password: 'x' })).toBe(
    'displayName email password consentedToTerms',
  )
})

it('keys that mean something to the language are fields like any other', async () => {
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
