import { type ActionInput, newId } from '@muster/actions'
import { createClient } from '@muster/actions/client'
import { failed, mailedJwt, signIn, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runHere } from '../../commands/testing/run-here.ts'
import { ANONYMOUS } from '../../platform/pipeline/caller.ts'
import { readEmail } from '../../platform/pipeline/email-address.ts'

const KEY = '28'.repeat(32)
const PASSWORD = 'a staple of horses'

let hub: TestHub
let admin: TestUser
let passwordHash: string
let count = 0

beforeAll(async () => {
  hub = await testHub({ instanceKey: KEY })
  admin = await hub.user({ isAdmin: true })
  const { password_hash } = await hub.db
    .selectFrom('user')
    .where('user_id', '=', admin.userId)
    .select('password_hash')
    .executeTakeFirstOrThrow()
  passwordHash = password_hash!
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Domain that no other test of this file uses. */
const freshDomain = (): string => `bücher${++count}.example`
/** The same domain in ASCII. */
const asciiOf = (domain: string): string => new URL(`http://${domain}`).hostname

/** Account as a node of an earlier release stores it. */
async function earlierAccount(email: string): Promise<string> {
  const userId = newId('u')
  await hub.db.insertInto('user').values({ user_id: userId, email, password_hash: passwordHash }).execute()
  return userId
}

async function canonicalOf(userId: string): Promise<string | null> {
  const { canonical_email: canonical } = await hub.db
    .selectFrom('user')
    .where('user_id', '=', userId)
    .select('canonical_email')
    .executeTakeFirstOrThrow()
  return canonical
}

const fill = () => hub.runJob('users_FillCanonicalEmails', {})

/** Id of the account that an address signs in to; undefined if the sign-in fails. */
async function signedIn(email: string): Promise<string | undefined> {
  const answer = await signIn(hub, email, admin.password)
  if (answer.status !== 200) return undefined
  const { rows } = await sql<{ user_id: string }>`
    select user_id from session order by created_at desc limit 1`.execute(hub.db)
  return rows[0]!.user_id
}

function register(email: string, more: Partial<ActionInput<'users_Register'>> = {}) {
  return hub.pipeline.run(ANONYMOUS, 'users_Register', {
    email,
    displayName: 'Iris',
    password: PASSWORD,
    consentedToTerms: true,
    ...more,
  })
}

const UNSTABLE = [
  ['iris@inİtech.example', 'found the domain inİtech.example, expected ini̇tech.example (IDNA, UTS 46)'],
  ['İris@initech0.example', 'found İris, expected its letters beyond ASCII in lower case'],
  [
    'ﬁona@initech.example',
    'found characters with a plainer form in Unicode (NFKC), expected fiona@initech.example',
  ],
  ['iris@BÜCHER.example', 'found the domain bÜcher.example, expected bücher.example (IDNA, UTS 46)'],
  ['iris@initech.example.', 'found the domain initech.example., expected it without the last dot'],
  [
    'iris@init\u00adech.example',
    'found the domain init\u00adech.example, expected initech.example (IDNA, UTS 46)',
  ],
  ['iris@initech..example', 'found the domain initech..example, expected a name between its dots'],
  ['iris@xn--a.other', 'found the domain xn--a.other, expected a domain name (IDNA, UTS 46)'],
  ['iris@%69nitech.example', 'found % in the domain, expected letters, digits, hyphens and dots'],
  [
    `iris@${'x'.repeat(64)}.example`,
    'found a domain of 72 characters in ASCII, expected at most 253, and at most 63 between its dots',
  ],
] as const

describe('an address that is not stable', () => {
  it.each(UNSTABLE)('S28: %s is refused with the reason', async (email, reason) => {
    const message = `This address cannot be used: ${reason}.`
    const refused = { kind: 'Invalid', status: 409, message, issues: [{ path: 'email', message }] }
    const organizationId = await hub.organization(admin)
    expect(await failed(register(email))).toMatchObject(refused)
    expect(await failed(admin.invoke('users_Create', { email }))).toMatchObject(refused)
    expect(await failed(admin.invoke('organizations_InviteMember', { organizationId, email }))).toMatchObject(
      refused,
    )
  })

  it.each(UNSTABLE)('S28: the account of %s keeps signing in with exactly that text', async email => {
    const userId = await earlierAccount(email)
    expect(await signedIn(email)).toBe(userId)
    expect(await fill()).toMatchObject({ status: 'Completed' })
    expect(await canonicalOf(userId)).toBe(email)
    expect(await signedIn(email)).toBe(userId)
    expect(await signedIn('iris@initech.example')).toBeUndefined()
    await hub.anonymous('users_ResetPassword', { email })
    expect(await mailedJwt(hub, 'PasswordReset', email)).toEqual(expect.any(String))
  })
})

describe('an invitation', () => {
  it.each([
    ['İris@initech.example', 'before'],
    ['İris@initech.example', 'after'],
    ['iris@initech.exampİe', 'before'],
    ['iris@initech.exampİe', 'after'],
  ])(
    'S28: to another address is not for the account of %s, %s the job has read the account',
    async (email, when) => {
      const domain = `initech${++count}`
      const organizationId = await hub.organization(admin)
      const { invitationId } = await admin.invoke('organizations_InviteMember', {
        organizationId,
        email: email.replace('initech', domain).replace('İ', 'i'),
      })
      const userId = await earlierAccount(email.replace('initech', domain))
      if (when === 'after') await fill()
      const caller = await sessionOf(userId)
      expect(await caller('users_QueryOrganizationInvitations', { userId })).toEqual({ invitations: [] })
      expect(await failed(caller('users_AcceptOrganizationInvitation', { invitationId }))).toMatchObject({
        kind: 'Forbidden',
      })
    },
  )

  it('S28: is found by the account in every spelling of its address', async () => {
    const domain = freshDomain()
    const organizationId = await hub.organization(admin)
    const { invitationId } = await admin.invoke('organizations_InviteMember', {
      organizationId,
      email: `Iris@${domain}`,
    })
    const again = { organizationId, email: `iris@${asciiOf(domain).toUpperCase()}` }
    expect(await admin.invoke('organizations_InviteMember', again)).toEqual({ invitationId })
    const userId = await earlierAccount(`iris@${asciiOf(domain)}`)
    const caller = await sessionOf(userId)
    expect(await caller('users_QueryOrganizationInvitations', { userId })).toMatchObject({
      invitations: [{ invitationId }],
    })
    expect(await caller('users_AcceptOrganizationInvitation', { invitationId })).toEqual({})
  })

  it('S28: to a known address that is not stable is for its account', async () => {
    const email = `Özgür@initech${++count}.example`
    const userId = await earlierAccount(email)
    const organizationId = await hub.organization(admin)
    const { invitationId } = await admin.invoke('organizations_InviteMember', { organizationId, email })
    const caller = await sessionOf(userId)
    expect(await caller('users_AcceptOrganizationInvitation', { invitationId })).toEqual({})
  })

  it('S28: of an earlier release is not sign-up by invitation for another address', async () => {
    const domain = `initech${++count}.example`
    const organizationId = await hub.organization(admin)
    await hub.db
      .insertInto('organization_invitation')
      .values({
        invitation_id: newId('org_invite'),
        organization_id: organizationId,
        email: `İris@${domain}`,
      })
      .execute()
    await using invited = await testHub({
      signup: 'invite',
      databaseUrl: hub.pool.options.connectionString!,
      instanceKey: KEY,
    })
    const signUp = (email: string) =>
      invited.pipeline.run(ANONYMOUS, 'users_Register', {
        email,
        displayName: 'Iris',
        password: PASSWORD,
        consentedToTerms: true,
      })
    expect(await failed(signUp(`iris@${domain}`))).toMatchObject({ kind: 'Forbidden' })
    const blocked = admin.invoke('organizations_InviteMember', { organizationId, email: `iris@${domain}` })
    expect(await failed(blocked)).toMatchObject({
      kind: 'Invalid',
      status: 409,
      message: `Found an open invitation to İris@${domain}, which differs in case only: withdraw it first.`,
    })
  })
})

describe('a domain beyond ASCII', () => {
  it.each(['filled', 'not filled'])('S28: is one account with its form in ASCII (%s)', async state => {
    for (const isAscii of [false, true]) {
      const domain = freshDomain()
      const forms = [`Iris@${domain}`, `iris@${domain}`, `iris@${asciiOf(domain)}`, `IRIS@${asciiOf(domain)}`]
      const userId = await earlierAccount(isAscii ? forms[3]! : forms[0]!)
      if (state === 'filled') {
        await fill()
        expect(await canonicalOf(userId)).toBe(forms[2])
      }
      for (const email of forms) {
        expect(await signedIn(email), email).toBe(userId)
        expect(await register(email)).toEqual({ result: 'EmailAlreadyExists' })
        expect(await admin.invoke('users_Create', { email })).toEqual({ result: 'EmailAlreadyExists' })
        expect(await admin.invoke('users_Query', { filter: { text: email } })).toMatchObject({
          users: [{ userId }],
        })
      }
    }
  })

  it('S28: repeats a sign-up in another spelling', async () => {
    const domain = freshDomain()
    const first = await register(`Iris@${domain}`)
    expect(first).toMatchObject({ result: 'Created' })
    expect(await register(`iris@${asciiOf(domain)}`)).toEqual({ ...first, result: 'Pending' })
  })
})

it('S28: an address in upper case beyond ASCII does not block the sign-up of another one, and is not contested', async () => {
  const domain = `initech${++count}.example`
  await hub.db
    .insertInto('user')
    .values({ user_id: newId('u'), email: `Özgür@${domain}`, is_active: false, password_hash: passwordHash })
    .execute()
  await hub.db
    .insertInto('registration')
    .columns(['user_id', 'status'])
    .expression(db =>
      db
        .selectFrom('user')
        .where('email', '=', `Özgür@${domain}`)
        .select(['user_id', sql.lit('Pending').as('status')]),
    )
    .execute()
  expect(await register(`özgür@${domain}`)).toEqual({ result: 'EmailAlreadyExists' })
  const { password_hash: kept } = await hub.db
    .selectFrom('user')
    .where('email', '=', `Özgür@${domain}`)
    .select('password_hash')
    .executeTakeFirstOrThrow()
  expect(kept).toBe(passwordHash)
})

it('S28: accounts that would collide are not merged, each signs in with its own text, and doctor lists them', async () => {
  const domain = freshDomain()
  const [unicode, ascii] = [`iris@${domain}`, `iris@${asciiOf(domain)}`]
  const first = await earlierAccount(unicode)
  await fill()
  const second = await earlierAccount(ascii)
  const third = await earlierAccount(`${ascii}.`)
  await fill()
  expect([await canonicalOf(first), await canonicalOf(second)]).toEqual([unicode, ascii])
  expect(await signedIn(unicode)).toBe(first)
  expect(await signedIn(ascii)).toBe(second)
  expect(await signedIn(ascii.toUpperCase())).toBe(second)
  expect(await signedIn(`${ascii}.`)).toBe(third)

  const { out, code } = await runHere(['doctor', '--json'], {
    MUSTER_DATABASE_URL: hub.pool.options.connectionString!,
    MUSTER_DATA_DIR: hub.dataDir,
    MUSTER_PUBLIC_URL: hub.url,
    MUSTER_INSTANCE_KEY: KEY,
  })
  expect(code).toBe(0)
  const { findings } = JSON.parse(out) as { findings: { check: string; finding: string; advice?: string }[] }
  const found = findings.find(({ finding }) => finding.includes(ascii))
  expect(found).toMatchObject({ check: 'database', state: 'warning' })
  expect(found!.finding).toMatch(
    new RegExp(`^Accounts with the same address in other spellings: .*${unicode} \\(${first}\\)`),
  )
  for (const id of [first, second, third]) expect(found!.finding).toContain(id)
})

it('S28: the canonical address is empty after an older node has changed the address, and is filled again', async () => {
  const domain = freshDomain()
  const userId = await earlierAccount(`iris@${domain}`)
  await fill()
  await sql`update "user" set email = ${`eve@${domain}`} where user_id = ${userId}`.execute(hub.db)
  expect(await canonicalOf(userId)).toBeNull()
  expect(await signedIn(`eve@${domain}`)).toBe(userId)
  await fill()
  expect(await canonicalOf(userId)).toBe(`eve@${asciiOf(domain)}`)
})

/** Client with a session of an account. */
async function sessionOf(userId: string) {
  const session = await hub.sessions.open({ userId, isAdmin: false, passwordHash }, 'test', false)
  return createClient({ baseUrl: hub.url, headers: { cookie: `muster=${session!.token}`, origin: hub.url } })
}

describe('readEmail', () => {
  const SCRIPTS: (readonly [number, number])[] = [
    [0x21, 0x7e],
    [0xa1, 0x24f],
    [0x250, 0x36f],
    [0x370, 0x5ff],
    [0x600, 0x8ff],
    [0x900, 0x1cff],
    [0x1d00, 0x1fff],
    [0x2000, 0x2bff],
    [0x3000, 0x9fff],
    [0xa000, 0xabff],
    [0xac00, 0xd7a3],
    [0xf900, 0xffef],
    [0x10000, 0x1ffff],
    [0xe0000, 0xe01ef],
  ]
  const LETTERS = [0x61, 0x7a] as const
  let seed = 28
  /** Deterministic number from 0 to `below`, exclusive (a linear congruential generator). */
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const part = (max: number): string =>
    Array.from({ length: 1 + random(max) }, () => {
      const [from, to] = random(3) === 0 ? SCRIPTS[random(SCRIPTS.length)]! : LETTERS
      return random(12) === 0 ? '.' : String.fromCodePoint(from + random(to - from + 1))
    }).join('')
  const address = (): string =>
    `${part(random(9) === 0 ? 120 : 8)}@${part(random(9) === 0 ? 80 : 6)}.${part(4)}`

  it('S28: accepts an address of any script with a stable canonical form, or gives a reason', () => {
    let accepted = 0
    for (let at = 0; at < 50_000; at++) {
      const email = address()
      const found = readEmail(email)
      if ('problem' in found) {
        expect(found.problem).toMatch(/^found .+, expected .+/su)
        continue
      }
      accepted++
      const { canonical, spellings } = found
      expect(spellings).toContain(canonical)
      expect(canonical.slice(canonical.lastIndexOf('@'))).toMatch(/^@[!-~]+$/)
      for (const one of [canonical, ...spellings, email.replace(/[a-z]/g, letter => letter.toUpperCase())])
        if (!/xn--/i.test(email) || one === canonical)
          expect({ email, one, found: readEmail(one) }).toEqual({
            email,
            one,
            found: { canonical, spellings },
          })
    }
    expect(accepted).toBeGreaterThan(5_000)
  })

  it('S28: the hub creates an account for an address of any script, or refuses it with the reason', async () => {
    for (let at = 0; at < 300; at++) {
      const email = address()
      const made = await admin.invoke('users_Create', { email }).catch((error: Error) => error)
      if (made instanceof Error) {
        expect(made).toMatchObject({ kind: 'Invalid' })
        expect(made.message, email).toMatch(
          /^(This address cannot be used: found|The input is not valid: email: )/,
        )
        continue
      }
      if (made.result !== 'Created') continue
      const { users } = await admin.invoke('users_Query', { filter: { text: made.userId } })
      expect(users).toMatchObject([{ email: email.trim() }])
      const again = await admin.invoke('users_Create', {
        email: email.replace(/[a-z]/g, one => one.toUpperCase()),
      })
      expect(again).toEqual({ result: 'EmailAlreadyExists' })
    }
  })
})
