import { type ActionError, newId } from '@muster/actions'
import {
  ask,
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
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ANONYMOUS } from '../../platform/pipeline/caller.ts'

const PASSWORD = 'a staple of horses'
const LAST = 'This is the last administrator of the instance: name another one first.'

let hub: TestHub
let admin: TestUser
let count = 0

beforeAll(async () => {
  hub = await testHub()
  admin = await hub.user({ isAdmin: true })
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(() => clearAudit(hub))

const freshEmail = (): string => `Person.${++count}@Example.test`

async function administratorsOf({ db }: TestHub): Promise<string[]> {
  const rows = await db.selectFrom('user').where('is_admin', '=', true).select('user_id').execute()
  return rows.map(row => row.user_id)
}

/** Starts a hub whose only accounts are the returned administrators. */
async function hubWith(administrators: number): Promise<{ at: TestHub; admins: TestUser[] }> {
  const at = await testHub()
  await at.db.deleteFrom('user').execute()
  const admins: TestUser[] = []
  for (let number = 0; number < administrators; number++) admins.push(await at.user({ isAdmin: true }))
  return { at, admins }
}

describe('users_Create', () => {
  it('creates an active account with its own organization and mails a link to set the password', async () => {
    const email = freshEmail()
    const output = await admin.invoke('users_Create', { email: ` ${email} `, name: 'Grace', isAdmin: false })
    const { userId } = output as { userId: string }
    expect(output).toEqual({ result: 'Created', userId: expect.stringMatching(/^u_/) })
    const account = await hub.db
      .selectFrom('user')
      .where('user_id', '=', userId)
      .selectAll()
      .executeTakeFirstOrThrow()
    expect(account).toMatchObject({
      email,
      display_name: 'Grace',
      password_hash: null,
      is_admin: false,
      is_active: true,
    })
    const { organizations } = await admin.invoke('users_QueryOrganizations', { userId })
    expect(organizations).toMatchObject([{ name: "Grace's organization" }])
    const link = await hub.db
      .selectFrom('mailed_token')
      .where('user_id', '=', userId)
      .selectAll()
      .executeTakeFirstOrThrow()
    expect(link.expires_at.getTime() - link.created_at.getTime()).toBeCloseTo(7 * 24 * 60 * 60 * 1000, -4)
    const resetToken = await mailedJwt(hub, 'PasswordReset', email)
    await hub.pipeline.run(ANONYMOUS, 'users_CompletePasswordReset', { resetToken, password: PASSWORD })
    expect((await signIn(hub, email, PASSWORD)).status).toBe(200)
    const events = (await auditEvents(hub)).filter(({ action }) => action === 'users_Create')
    expect(events.map(({ event }) => event)).toEqual([
      'users_Created',
      'organizations_Created',
      'organizations_MemberAdded',
    ])
    expect(events[0]).toMatchObject({ data: { userId, email }, actor: { userId: admin.userId } })
  })

  it('mails no link when a password is given, and refuses a common password', async () => {
    const email = freshEmail()
    const invoke = admin.invoke as (name: string, input: unknown) => Promise<{ userId: string }>
    const { userId } = await invoke('users_CreateUser', {
      email,
      displayName: 'Ada',
      name: 'not this one',
      password: PASSWORD,
    })
    expect(
      await hub.db.selectFrom('mailed_token').where('user_id', '=', userId).selectAll().execute(),
    ).toEqual([])
    expect((await signIn(hub, email, PASSWORD)).status).toBe(200)
    expect(await admin.invoke('users_GetDetails', { userId })).toMatchObject({
      displayName: 'Ada',
    })
    const everything = JSON.stringify([await auditRows(hub), await auditEvents(hub)])
    expect(everything).not.toContain(PASSWORD)
    const error = await failed(invoke('users_CreateUser', { email: freshEmail(), password: 'password1' }))
    expect(error).toMatchObject({ kind: 'Invalid', message: expect.stringContaining('most common') })
  })

  it('returns EmailAlreadyExists for a used address in any letter case, also for concurrent calls', async () => {
    const email = freshEmail()
    await hub.pipeline.run(ANONYMOUS, 'users_Register', { email, password: PASSWORD, consentedToTerms: true })
    for (const one of [email, email.toUpperCase(), admin.email])
      expect(await admin.invoke('users_Create', { email: one })).toEqual({ result: 'EmailAlreadyExists' })
    const another = freshEmail()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => admin.invoke('users_Create', { email: another })),
    )
    expect(answers.map(({ result }) => result).sort()).toEqual([
      'Created',
      ...Array(4).fill('EmailAlreadyExists'),
    ])
  })

  it('needs a recent sign-in or the current password to create an administrator or to set a password', async () => {
    const boss = await hub.user({ isAdmin: true })
    await hub.db
      .updateTable('session')
      .set({ created_at: new Date(Date.now() - 60 * 60_000) })
      .where('user_id', '=', boss.userId)
      .execute()
    const refused = { kind: 'Forbidden', issues: [{ path: 'currentPassword' }] }
    for (const more of [{ isAdmin: true }, { password: PASSWORD }])
      expect(await failed(boss.invoke('users_Create', { email: freshEmail(), ...more }))).toMatchObject(
        refused,
      )
    const byToken = hub.withToken(await hub.userToken(boss))
    const administrator = { email: freshEmail(), isAdmin: true, currentPassword: boss.password }
    expect(await failed(byToken('users_Create', administrator))).toMatchObject({ kind: 'Forbidden' })
    expect(await boss.invoke('users_Create', { email: freshEmail() })).toMatchObject({ result: 'Created' })
    const input = { email: freshEmail(), isAdmin: true, currentPassword: boss.password }
    expect(await boss.invoke('users_Create', input)).toMatchObject({ result: 'Created' })
    expect(await administratorsOf(hub)).toHaveLength(4)
  })
})

describe('users_Delete', () => {
  it('deletes an account with its sessions, tokens and memberships, keeps its organizations, and is audited', async () => {
    const ada = await hub.user()
    const { userId } = ada
    const organizationId = await hub.organization(ada)
    await hub.userToken(ada)
    await hub.pipeline.run(ANONYMOUS, 'users_ResetPassword', { email: ada.email })
    await hub.pipeline.settled(30_000)
    expect(await admin.invoke('users_Delete', { userId })).toEqual({})
    expect(await ada.invoke('actor_GetActor', {})).toEqual({ actor: { actor: 'Anonymous' } })
    for (const table of ['user', 'session', 'user_token', 'mailed_token', 'organization_member'] as const)
      expect(await hub.db.selectFrom(table).where('user_id', '=', userId).selectAll().execute()).toEqual([])
    expect(await auditEvents(hub, 'users_Deleted')).toMatchObject([{ data: { userId } }])
    await admin.invoke('organizations_QueryProjects', { organizationId })
    expect(await failed(admin.invoke('users_Delete', { userId }))).toMatchObject({
      kind: 'Forbidden',
      message: 'You are not permitted to do this.',
    })
  })

  it('refuses to delete the caller’s own account', async () => {
    expect(await failed(admin.invoke('users_Delete', { userId: admin.userId }))).toMatchObject({
      kind: 'Invalid',
      message: 'You cannot delete your own account: ask another administrator.',
    })
    expect(await auditRows(hub, 'users_Delete')).toMatchObject([{ status: 'Failed' }])
  })

  it('leaves one administrator when all delete each other at once', async () => {
    const { at, admins } = await hubWith(4)
    await using _ = at
    const outcomes = await Promise.allSettled(
      admins.flatMap(by =>
        admins.filter(other => other !== by).map(({ userId }) => by.invoke('users_Delete', { userId })),
      ),
    )
    expect(await administratorsOf(at)).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') continue
      expect(['Forbidden', 'Invalid']).toContain((outcome.reason as ActionError).kind)
    }
    expect(
      await at.db.selectFrom('audit_action').where('status', '=', 'Panicked').selectAll().execute(),
    ).toEqual([])
  })
})

describe('users_SetIsAdmin', () => {
  it('grants and revokes administration for the next call, and is audited', async () => {
    const ada = await hub.user()
    const { userId } = ada
    const set = (isAdmin: boolean) => admin.invoke('users_SetIsAdmin', { userId, isAdmin })
    expect(await failed(ada.invoke('users_Query', {}))).toMatchObject({ kind: 'Forbidden' })
    expect(await set(true)).toEqual({})
    expect((await ada.invoke('users_Query', {})).users.length).toBeGreaterThan(1)
    expect(await set(false)).toEqual({})
    expect(await failed(ada.invoke('users_Query', {}))).toMatchObject({ kind: 'Forbidden' })
    expect(await auditEvents(hub, 'users_SetIsAdmin')).toMatchObject([
      { data: { userId, isAdmin: true } },
      { data: { userId, isAdmin: false } },
    ])
  })

  it('refuses absent accounts with the common message', async () => {
    for (const isAdmin of [true, false])
      expect(await failed(admin.invoke('users_SetIsAdmin', { userId: newId('u'), isAdmin }))).toMatchObject({
        kind: 'Forbidden',
        message: 'You are not permitted to do this.',
      })
  })

  it('keeps the last active administrator', async () => {
    const { at, admins } = await hubWith(2)
    await using _ = at
    const [first, second] = admins as [TestUser, TestUser]
    await at.db.updateTable('user').set({ is_active: false }).where('user_id', '=', second.userId).execute()
    const resign = { userId: first.userId, isAdmin: false }
    expect(await failed(first.invoke('users_SetIsAdmin', resign))).toMatchObject({
      kind: 'Invalid',
      message: LAST,
    })
    await at.db.updateTable('user').set({ is_active: true }).where('user_id', '=', second.userId).execute()
    expect(await first.invoke('users_SetIsAdmin', resign)).toEqual({})
    expect(await administratorsOf(at)).toEqual([second.userId])
  })

  it('leaves one administrator when all revoke all at once', async () => {
    const { at, admins } = await hubWith(3)
    await using _ = at
    await Promise.allSettled(
      admins.flatMap(({ invoke }) =>
        admins.map(({ userId }) => invoke('users_SetIsAdmin', { userId, isAdmin: false })),
      ),
    )
    expect(await administratorsOf(at)).toHaveLength(1)
    expect(
      await at.db.selectFrom('audit_action').where('status', '=', 'Panicked').selectAll().execute(),
    ).toEqual([])
  })

  it('always needs a recent sign-in or the current password', async () => {
    const boss = await hub.user({ isAdmin: true })
    const ada = await hub.user()
    await hub.db
      .updateTable('session')
      .set({ created_at: new Date(Date.now() - 16 * 60_000) })
      .where('user_id', '=', boss.userId)
      .execute()
    const input = { userId: ada.userId, isAdmin: true }
    const refused = { kind: 'Forbidden', issues: [{ path: 'currentPassword' }] }
    expect(await failed(boss.invoke('users_SetIsAdmin', input))).toMatchObject(refused)
    const byToken = hub.withToken(await hub.userToken(boss))
    expect(
      await failed(byToken('users_SetIsAdmin', { ...input, currentPassword: boss.password })),
    ).toMatchObject({ kind: 'Forbidden' })
    expect(await auditRows(hub, 'users_SetIsAdmin')).toMatchObject([
      { status: 'Rejected' },
      { status: 'Rejected' },
    ])
    const currentPassword = boss.password
    expect(await boss.invoke('users_SetIsAdmin', { ...input, currentPassword })).toEqual({})
    const wrong = { ...input, currentPassword: 'wrong' }
    const kinds = []
    for (let attempt = 0; attempt < 12; attempt++)
      kinds.push((await failed(boss.invoke('users_SetIsAdmin', wrong))).kind)
    expect(kinds).toEqual([...Array(10).fill('Forbidden'), 'RateLimited', 'RateLimited'])
  })
})

describe('users_SetIsActive', () => {
  const setActive = (userId: string, isActive: boolean) =>
    admin.invoke('users_SetIsActive', { userId, isActive })

  it('S18: disables an account and ends its sessions, tokens and mailed links for good', async () => {
    const ada = await hub.user()
    const { userId, email, password } = ada
    const token = await hub.userToken(ada)
    await hub.pipeline.run(ANONYMOUS, 'users_ResetPassword', { email })
    const resetToken = await mailedJwt(hub, 'PasswordReset', email)
    await clearAudit(hub)
    expect(await setActive(userId, false)).toEqual({})
    const anonymous = { actor: { actor: 'Anonymous' } }
    expect(await ada.invoke('actor_GetActor', {})).toEqual(anonymous)
    expect(await hub.withToken(token)('actor_GetActor', {})).toEqual(anonymous)
    expect((await signIn(hub, email, password)).json()).toMatchObject({
      message: 'Invalid username or password!',
    })
    const reset = { resetToken, password: 'a staple of horses' }
    expect(await hub.anonymous('users_CompletePasswordReset', reset)).toEqual({ result: 'InvalidToken' })
    const { users } = await admin.invoke('users_Query', { filter: { text: email } })
    expect(users).toMatchObject([{ userId, isActive: false, isPending: false }])
    const events = (await auditEvents(hub)).filter(({ event }) => !event.endsWith('Sent'))
    expect(events.map(({ event, data }) => [event, data])).toEqual([
      ['users_SessionTerminated', { userId, sessionId: expect.any(String) }],
      ['users_TokenDeleted', { userId, tokenId: expect.any(String), name: 'test' }],
      ['users_SetIsActive', { userId, isActive: false }],
    ])
    expect(await auditRows(hub, 'users_SetIsActive')).toMatchObject([
      { data: { userId, isActive: false }, status: 'Succeeded' },
    ])

    await setActive(userId, true)
    expect((await signIn(hub, email, password)).status).toBe(200)
    // Ended sessions and tokens stay ended when the account is enabled again.
    expect(await ada.invoke('actor_GetActor', {})).toEqual(anonymous)
    expect(await hub.withToken(token)('actor_GetActor', {})).toEqual(anonymous)
  })

  it('S18: keeps memberships and invitations of a disabled account', async () => {
    const { owner, organizationId } = await hub.fleet()
    const ada = await hub.user()
    await admin.invoke('organizations_AddMember', { organizationId, userId: ada.userId })
    const inviting = await hub.organization(owner)
    await owner.invoke('organizations_InviteMember', { organizationId: inviting, email: ada.email })
    await setActive(ada.userId, false)
    const { members } = await owner.invoke('organizations_QueryMembers', { organizationId })
    expect(members).toHaveLength(2)
    await setActive(ada.userId, true)
    const cookie = (await signIn(hub, ada.email, ada.password)).headers.getSetCookie()[0]!.split(';')[0]!
    const again = await ask(hub, '/api/v1/actions/invoke/users_QueryOrganizationInvitations', {
      body: { userId: ada.userId },
      as: { ...ada, cookie },
    })
    expect(again.json()).toMatchObject({ invitations: [{ organization: { organizationId: inviting } }] })
  })

  it('S18: refuses the caller’s own account and an account that is not activated yet', async () => {
    expect(await failed(setActive(admin.userId, false))).toMatchObject({
      kind: 'Invalid',
      message: 'You cannot disable your own account: ask another administrator.',
    })
    const email = 'pending@example.test'
    const signUp = { email, password: 'a staple of horses', consentedToTerms: true as const }
    await hub.pipeline.run(ANONYMOUS, 'users_Register', signUp)
    const { users } = await admin.invoke('users_Query', { filter: { text: email } })
    expect(users).toMatchObject([{ isActive: false, isPending: true }])
    for (const isActive of [true, false])
      expect(await failed(setActive(users[0]!.userId, isActive))).toMatchObject({
        kind: 'Invalid',
        status: 409,
      })
  })

  it('S18: leaves one active administrator when all disable all at once', async () => {
    const { at, admins } = await hubWith(3)
    await using _ = at
    await Promise.allSettled(
      admins.flatMap(({ invoke }) =>
        admins.map(({ userId }) => invoke('users_SetIsActive', { userId, isActive: false })),
      ),
    )
    const rows = await at.db.selectFrom('user').where('is_active', '=', true).select('user_id').execute()
    expect(rows).toHaveLength(1)
    expect(
      await at.db.selectFrom('audit_action').where('status', '=', 'Panicked').selectAll().execute(),
    ).toEqual([])
  })

  it('S18: needs a recent sign-in or the current password to enable an account', async () => {
    const boss = await hub.user({ isAdmin: true })
    const ada = await hub.user()
    const byToken = hub.withToken(await hub.userToken(boss))
    const { userId } = ada
    expect(await byToken('users_SetIsActive', { userId, isActive: false })).toEqual({})
    await hub.db
      .updateTable('session')
      .set({ created_at: new Date(Date.now() - 16 * 60_000) })
      .where('user_id', '=', boss.userId)
      .execute()
    expect(await failed(boss.invoke('users_SetIsActive', { userId, isActive: true }))).toMatchObject({
      kind: 'Forbidden',
      issues: [{ path: 'currentPassword' }],
    })
    const enabled = { userId, isActive: true, currentPassword: boss.password }
    expect(await failed(byToken('users_SetIsActive', enabled))).toMatchObject({ kind: 'Forbidden' })
    expect(await boss.invoke('users_SetIsActive', enabled)).toEqual({})
  })
})

describe('users_TerminateSessions', () => {
  it('S18: ends all sessions of an account except the calling one', async () => {
    const ada = await hub.user()
    const { userId, email, password } = ada
    const another = async () =>
      (await signIn(hub, email, password)).headers.getSetCookie()[0]!.split(';')[0]!.split('=')[1]!
    const actorOf = async (cookie: string) => (await hub.sessions.callerOf({ cookie })).actor
    const second = await another()
    expect(await ada.invoke('users_TerminateSessions', { userId })).toEqual({})
    expect(await actorOf(second)).toBe('Anonymous')
    expect(await ada.invoke('actor_GetActor', {})).toMatchObject({ actor: { actor: 'User' } })
    const third = await another()
    await clearAudit(hub)
    expect(await admin.invoke('users_TerminateSessions', { userId })).toEqual({})
    expect(await actorOf(third)).toBe('Anonymous')
    expect(await ada.invoke('actor_GetActor', {})).toEqual({ actor: { actor: 'Anonymous' } })
    expect(await auditEvents(hub, 'users_SessionTerminated')).toMatchObject([
      { data: { userId }, actor: { userId: admin.userId } },
      { data: { userId } },
    ])
    expect((await signIn(hub, email, password)).status).toBe(200)
  })
})

describe('users_Query', () => {
  it('lists accounts newest first, and pages, sorts and searches them', async () => {
    const { at, admins } = await hubWith(1)
    await using _ = at
    const { invoke, userId } = admins[0]!
    const people = []
    for (const displayName of ['zoe', 'Adamson', '100%', 'Ünal']) people.push(await at.user({ displayName }))
    const ids = (output: { users: { userId: string }[] }): string[] => output.users.map(user => user.userId)
    const all = await invoke('users_Query', {})
    expect(ids(all)).toEqual([...people.map(person => person.userId).reverse(), userId])
    expect(all.users[0]).toEqual({
      userId: people[3]!.userId,
      email: people[3]!.email,
      displayName: 'Ünal',
      isAdmin: false,
      isActive: true,
      isPending: false,
      createdAt: expect.stringMatching(/Z$/),
    })
    const first = await invoke('users_Query', { limit: 3 })
    expect(first.total).toBe(5)
    const second = await invoke('users_Query', { limit: 3, cursor: first.nextCursor! })
    expect([...ids(first), ...ids(second)]).toEqual(ids(all))
    const byName = await invoke('users_Query', { sort: 'displayName' })
    expect(byName.users.map(user => user.displayName)).toEqual([undefined, '100%', 'Adamson', 'zoe', 'Ünal'])
    const byEmail = await invoke('users_Query', { sort: '-email' })
    expect(ids(byEmail)).toHaveLength(5)
    for (const [text, found] of [
      ['ADAMS', [people[1]!.userId]],
      ['%', [people[2]!.userId]],
      [people[0]!.email.toUpperCase(), [people[0]!.userId]],
      ['nobody at all', []],
    ] as const)
      expect(ids(await invoke('users_Query', { filter: { text } }))).toEqual(found)
  })
})

describe('users_SetDisplayName', () => {
  it.each([
    ['<script>alert(1)</script>', '<script>alert(1)</script>'],
    ['  Ada \u00a0', 'Ada'],
    ['👩🏽‍🚀 漢字 العربية', '👩🏽‍🚀 漢字 العربية'],
    ['😀'.repeat(128), '😀'.repeat(128)],
  ])('accepts %j', async (typed, kept) => {
    const ada = await hub.user()
    const { userId } = ada
    await ada.invoke('users_SetDisplayName', { userId, displayName: typed })
    const details = await ada.invoke('users_GetDetails', { userId })
    expect(details.displayName).toBe(kept)
    expect(await auditEvents(hub, 'users_DisplayNameChanged')).toMatchObject([
      { data: { userId, displayName: kept } },
    ])
  })

  it.each([
    '',
    ' ',
    '\u2003\n',
    'x'.repeat(129),
    'x'.repeat(10_000),
    'a\0b',
    'a\nb',
    '\ud800',
    1,
    null,
    ['Ada'],
  ])('refuses %j', async displayName => {
    const error = await failed(
      admin.invoke('users_SetDisplayName', { userId: admin.userId, displayName: displayName as string }),
    )
    expect(error).toMatchObject({ kind: 'Invalid', issues: [{ path: 'displayName' }] })
  })

  it('is for the person and for administrators of the instance', async () => {
    const [ada, grace] = [await hub.user(), await hub.user()]
    const input = { userId: ada.userId, displayName: 'Ada' }
    expect(await failed(grace.invoke('users_SetDisplayName', input))).toMatchObject({ kind: 'Forbidden' })
    expect(await admin.invoke('users_SetDisplayName', input)).toEqual({})
  })
})
