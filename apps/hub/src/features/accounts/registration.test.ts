import type { ActionInput } from '@muster/actions'
import {
  auditEvents,
  auditRows,
  clearAudit,
  failed,
  mailedJwt,
  signIn,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ANONYMOUS } from '../../platform/pipeline/caller.ts'
import { isAccountOf } from './accounts.ts'

const PASSWORD = 'a staple of horses'

let hub: TestHub
let admin: TestUser
let count = 0

beforeAll(async () => {
  hub = await testHub()
  admin = await hub.user({ isAdmin: true })
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(() => clearAudit(hub))

const freshEmail = (): string => `Grace.${++count}@Example.test`

/** Signs up in process. A call in process has no client IP, so rate limits per client IP do not apply. */
function register(more: Partial<ActionInput<'users_Register'>> & { email: string }, at = hub) {
  return at.pipeline.run(ANONYMOUS, 'users_Register', {
    displayName: 'Grace Hopper',
    password: PASSWORD,
    consentedToTerms: true,
    ...more,
  })
}

const activate = (activationToken: string) =>
  hub.pipeline.run(ANONYMOUS, 'users_CompleteRegistration', { activationToken })

const resend = async (email: string) => {
  const answer = await hub.pipeline.run(ANONYMOUS, 'users_ResendRegistrationEmail', { email })
  // The link is created after the answer.
  await hub.pipeline.settled(30_000)
  return answer
}

function accountOf(email: string) {
  return hub.db
    .selectFrom('user as u')
    .leftJoin('registration as r', 'r.user_id', 'u.user_id')
    .where(isAccountOf(email, sql.ref('u.user_id')))
    .selectAll('u')
    .select('r.status')
    .executeTakeFirst()
}

describe('users_Register', () => {
  it('creates an account that can sign in, and has its own organization, once the mailed link was opened', async () => {
    const email = freshEmail()
    const answer = await hub.anonymous('users_Register', {
      displayName: ' Grace Hopper ',
      email: `  ${email} `,
      password: PASSWORD,
      consentedToTerms: true,
      consentedToMarketing: true,
    })
    expect(answer).toEqual({
      result: 'Created',
      status: { tag: 'Pending' },
      createdAt: expect.stringMatching(/^\d{4}-/),
    })
    const account = (await accountOf(email))!
    expect(account).toMatchObject({
      email,
      display_name: 'Grace Hopper',
      is_active: false,
      is_admin: false,
      consented_to_terms: true,
      consented_to_marketing: true,
      status: 'Pending',
    })
    expect(account.password_hash).toMatch(/^\$argon2id\$/)
    expect((await signIn(hub, email, PASSWORD)).status).toBe(401)

    const jwt = await mailedJwt(hub, 'Activation', email)
    expect(await hub.anonymous('users_CompleteRegistration', { activationToken: jwt })).toEqual({
      result: 'Completed',
    })
    expect(await accountOf(email)).toMatchObject({ is_active: true, status: 'Completed' })
    expect((await signIn(hub, email.toLowerCase(), PASSWORD)).status).toBe(200)
    const { organizations } = await admin.invoke('users_QueryOrganizations', {
      userId: account.user_id,
    })
    expect(organizations).toMatchObject([{ name: "Grace Hopper's organization" }])
  })

  it('audits sign-up and activation without secrets', async () => {
    const email = freshEmail()
    await register({ email })
    const { user_id: userId } = (await accountOf(email))!
    const jwt = await mailedJwt(hub, 'Activation', email)
    await activate(jwt)
    const [member] = await hub.db
      .selectFrom('organization_member')
      .where('user_id', '=', userId)
      .selectAll()
      .execute()
    const organizationId = member!.organization_id
    expect(member).toMatchObject({ is_admin: true })
    const events = (await auditEvents(hub)).filter(({ event }) => !event.endsWith('Sent'))
    expect(events.map(({ event, data, action }) => [event, data, action])).toEqual([
      ['users_RegistrationCreated', { userId, email }, 'users_Register'],
      ['users_RegistrationCompleted', { userId }, 'users_CompleteRegistration'],
      ['users_Created', { userId, email }, 'users_CompleteRegistration'],
      ['organizations_Created', { organizationId }, 'users_CompleteRegistration'],
      ['organizations_MemberAdded', { organizationId, userId, isAdmin: true }, 'users_CompleteRegistration'],
    ])
    const everything = JSON.stringify([await auditRows(hub), await auditEvents(hub)])
    expect(everything).not.toContain(PASSWORD)
    expect(everything).not.toContain(jwt.split('.')[1])
  })

  it('C7: audits a sign-up for a known address as Failed with its result', async () => {
    const email = freshEmail()
    await register({ email })
    await register({ email })
    await register({ email: admin.email })
    expect(await activate('no such link')).toEqual({ result: 'Failed' })
    const rows = await auditRows(hub)
    expect(
      rows.map(({ action, status, data }) => [action, status, (data as { result?: string }).result]),
    ).toEqual([
      ['users_Register', 'Succeeded', undefined],
      ['users_Register', 'Failed', 'Pending'],
      ['users_Register', 'Failed', 'EmailAlreadyExists'],
      ['users_CompleteRegistration', 'Failed', 'Failed'],
    ])
    expect(rows[1]!.data).toMatchObject({ email, displayName: 'Grace Hopper' })
  })

  it('returns Pending for a second sign-up for an address in any letter case, and changes nothing', async () => {
    const email = freshEmail()
    const first = await register({ email })
    const before = await accountOf(email)
    const again = await register({ email: email.toUpperCase(), displayName: 'Somebody Else' })
    expect(again).toEqual({ ...first, result: 'Pending' })
    expect(await accountOf(email)).toEqual(before)
    expect(await linksOf(email)).toHaveLength(1)
  })

  it('voids both passwords when an address is signed up for twice with different ones', async () => {
    const email = freshEmail().toLowerCase()
    const first = await register({ email, password: 'what a stranger knows' })
    expect(await register({ email })).toEqual({ ...first, result: 'Pending' })
    expect(await register({ email, password: 'what a stranger knows' })).toMatchObject({ result: 'Pending' })
    expect(await activate(await mailedJwt(hub, 'Activation', email))).toEqual({ result: 'Completed' })
    for (const password of ['what a stranger knows', PASSWORD])
      expect((await signIn(hub, email, password)).status).toBe(401)
    const [, mail] = await hub.mailsTo(email, 2)
    expect(mail!.subject).toBe('Set the password of your new account')
    const resetToken = new URL(mail!.link).searchParams.get('jwt')!
    const setting = hub.anonymous('users_CompletePasswordReset', { resetToken, password: PASSWORD })
    expect(await setting).toEqual({ result: 'Completed' })
    expect((await signIn(hub, email, PASSWORD)).status).toBe(200)
  })

  it('leaves a password or mails a link when a second sign-up and the activation run at once', async () => {
    for (let round = 0; round < 5; round++) {
      const email = freshEmail().toLowerCase()
      await register({ email })
      const jwt = await mailedJwt(hub, 'Activation', email)
      await Promise.all([register({ email, password: 'what a stranger knows' }), activate(jwt)])
      const { password_hash: hash, is_active: isActive } = (await accountOf(email))!
      expect(isActive).toBe(true)
      // The second sign-up removes the password only if it runs before the activation. In this case the activation mails a link
      // to set a password.
      const links = (await linksOf(email)).filter(({ purpose }) => purpose === 'PasswordReset')
      expect(links).toHaveLength(hash === null ? 1 : 0)
    }
  })

  it('returns EmailAlreadyExists for an active account, as docs/specification.md requires', async () => {
    expect(await register({ email: admin.email.toUpperCase() })).toEqual({ result: 'EmailAlreadyExists' })
    const email = freshEmail()
    await register({ email })
    await activate(await mailedJwt(hub, 'Activation', email))
    expect(await register({ email })).toEqual({ result: 'EmailAlreadyExists' })
  })

  it('creates one account and one link for six sign-ups with one address at once', async () => {
    const email = freshEmail()
    const answers = await Promise.all(
      [email, email.toUpperCase(), email.toLowerCase(), email, email, email].map(one =>
        register({ email: one }),
      ),
    )
    expect(answers.map(({ result }) => result).sort()).toEqual(['Created', ...Array(5).fill('Pending')])
    expect(await linksOf(email)).toHaveLength(1)
    expect(await auditEvents(hub, 'users_RegistrationCreated')).toHaveLength(1)
  })

  it('names the organization after the address when there is no name, cut to 128 characters', async () => {
    const local = `${'ä'.repeat(120)}.${++count}`
    const email = `${local}@example.test`
    await register({ email, displayName: undefined })
    await activate(await mailedJwt(hub, 'Activation', email))
    const { name } = await hub.db
      .selectFrom('organization as o')
      .innerJoin('organization_member as m', 'm.organization_id', 'o.organization_id')
      .innerJoin('user as u', 'u.user_id', 'm.user_id')
      .where('u.email', '=', email)
      .select('o.name')
      .executeTakeFirstOrThrow()
    expect(name).toBe(`${local.slice(0, 113)}'s organization`)
    expect(name).toHaveLength(128)
  })

  it('refuses everybody when sign-up is closed', async () => {
    await using closed = await testHub({ signup: 'closed' })
    const error = await failed(register({ email: freshEmail() }, closed))
    expect(error).toMatchObject({ kind: 'Forbidden', message: 'Sign-up is closed on this instance.' })
    expect(await closed.db.selectFrom('registration').selectAll().execute()).toEqual([])
  })

  it('accepts only invited addresses when sign-up is by invitation', async () => {
    await using invited = await testHub({ signup: 'invite' })
    const error = await failed(register({ email: 'Ada@example.test' }, invited))
    expect(error).toMatchObject({
      kind: 'Forbidden',
      message: 'Sign-up on this instance is by invitation only.',
    })
    const owner = await invited.user()
    await invited.db
      .insertInto('organization_invitation')
      .values({
        invitation_id: 'org_invite_1',
        organization_id: await invited.organization(owner),
        email: 'ada@EXAMPLE.test',
      })
      .execute()
    expect(await register({ email: 'Ada@example.test' }, invited)).toMatchObject({ result: 'Created' })
  })
})

describe('users_CompleteRegistration', () => {
  it('works once, also when the link is opened six times at once', async () => {
    const email = freshEmail()
    await register({ email })
    const jwt = await mailedJwt(hub, 'Activation', email)
    const answers = await Promise.all(Array.from({ length: 6 }, () => activate(jwt)))
    expect(answers.map(({ result }) => result).sort()).toEqual(['Completed', ...Array(5).fill('Failed')])
    expect(await activate(jwt)).toEqual({ result: 'Failed' })
    expect(await auditEvents(hub, 'users_Created')).toHaveLength(1)
    expect(await auditEvents(hub, 'organizations_Created')).toHaveLength(1)
  })

  it('refuses a link after its lifetime of a day', async () => {
    const email = freshEmail()
    await register({ email })
    const [link] = await linksOf(email)
    expect(link!.expires_at.getTime() - link!.created_at.getTime()).toBeCloseTo(24 * 60 * 60 * 1000, -4)
    const jwt = await mailedJwt(hub, 'Activation', email)
    // The JWT itself has not expired yet, but the earlier expiry in its database row counts.
    await hub.db
      .updateTable('mailed_token')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('jwt_id', '=', link!.jwt_id)
      .execute()
    expect(await activate(jwt)).toEqual({ result: 'Failed' })
    expect(await accountOf(email)).toMatchObject({ is_active: false, status: 'Pending' })
  })

  it('fails for an account that was deleted meanwhile', async () => {
    const email = freshEmail()
    await register({ email })
    const jwt = await mailedJwt(hub, 'Activation', email)
    const { user_id: userId } = (await accountOf(email))!
    await admin.invoke('users_Delete', { userId })
    expect(await activate(jwt)).toEqual({ result: 'Failed' })
    expect(await register({ email })).toMatchObject({ result: 'Created' })
  })

  it('does not activate an account whose registration has failed', async () => {
    const email = freshEmail()
    await register({ email })
    const jwt = await mailedJwt(hub, 'Activation', email)
    const { user_id: userId } = (await accountOf(email))!
    await hub.db.updateTable('registration').set({ status: 'Failed' }).where('user_id', '=', userId).execute()
    expect(await activate(jwt)).toEqual({ result: 'Failed' })
    expect(await accountOf(email)).toMatchObject({ is_active: false })
  })
})

describe('users_ResendRegistrationEmail', () => {
  it('mails a new link, and the first one used of both works', async () => {
    const email = freshEmail()
    await register({ email })
    const first = await mailedJwt(hub, 'Activation', email)
    expect(await resend(email.toUpperCase())).toEqual({})
    const second = await mailedJwt(hub, 'Activation', email)
    expect(second).not.toBe(first)
    expect(await activate(first)).toEqual({ result: 'Completed' })
    expect(await activate(second)).toEqual({ result: 'Failed' })
  })

  it('gives the same answer for other addresses and creates no link', async () => {
    const before = await hub.db.selectFrom('mailed_token').select('jwt_id').execute()
    for (const email of ['nobody@example.test', admin.email]) expect(await resend(email)).toEqual({})
    expect(await hub.db.selectFrom('mailed_token').select('jwt_id').execute()).toEqual(before)
  })

  it('creates at most five links an hour, also for calls at once', async () => {
    const email = freshEmail()
    await register({ email })
    await Promise.all(Array.from({ length: 8 }, () => resend(email)))
    expect(await linksOf(email)).toHaveLength(5)
    await hub.db
      .updateTable('mailed_token')
      .set({ created_at: new Date(Date.now() - 61 * 60_000) })
      .execute()
    await resend(email)
    expect(await linksOf(email)).toHaveLength(6)
    expect(await activate(await mailedJwt(hub, 'Activation', email))).toEqual({ result: 'Completed' })
  })
})

function linksOf(email: string) {
  return hub.db
    .selectFrom('mailed_token as t')
    .innerJoin('user as u', 'u.user_id', 't.user_id')
    .where(isAccountOf(email, sql.ref('u.user_id')))
    .selectAll('t')
    .execute()
}
