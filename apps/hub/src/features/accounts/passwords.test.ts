import { existsSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ActionError, newId } from '@muster/actions'
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
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { PreparingClient } from '../../platform/database/client/preparing-client.ts'
import { ANONYMOUS } from '../../platform/pipeline/caller.ts'

const NEW_PASSWORD = 'a staple of horses'
const COMMON = 'This password is one of the most common ones: choose another.'

let hub: TestHub
let admin: TestUser

beforeAll(async () => {
  hub = await testHub()
  admin = await hub.user({ isAdmin: true })
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(() => clearAudit(hub))

/** Requests a mailed link in process, and waits until it exists. A call in process has no client IP, so rate limits per client IP do not apply. */
const askForLink = async (email: string) => {
  const answer = await hub.pipeline.run(ANONYMOUS, 'users_ResetPassword', { email })
  // The link is created after the answer.
  await hub.pipeline.settled(30_000)
  return answer
}
const reset = (resetToken: string, password: string) =>
  hub.pipeline.run(ANONYMOUS, 'users_CompletePasswordReset', { resetToken, password })

/** Signs a person in again and returns the session cookie. */
async function sessionOf({ email, password }: TestUser): Promise<string> {
  return (await signIn(hub, email, password)).headers.getSetCookie()[0]!.split(';')[0]!
}

async function isSignedIn(cookie: string): Promise<boolean> {
  const caller = await hub.sessions.callerOf({ cookie: cookie.split('=')[1]! })
  return caller.actor === 'User'
}

/** Moves the sign-in times of a person's sessions into the past. */
async function age({ userId }: TestUser, minutes: number): Promise<void> {
  await hub.db
    .updateTable('session')
    .set({ created_at: new Date(Date.now() - minutes * 60_000) })
    .where('user_id', '=', userId)
    .execute()
}

async function passwordsThatWork({ email, password }: TestUser): Promise<boolean[]> {
  return [
    (await signIn(hub, email, password)).status === 200,
    (await signIn(hub, email, NEW_PASSWORD)).status === 200,
  ]
}

/** Waits until at least `many` SQL statements wait for a lock. */
async function waiting(many: number): Promise<void> {
  await until(`waiting of ${many} statements for a lock`, async () => {
    const { rows } = await hub.pool.query<{ count: number }>(
      `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows[0]!.count >= many
  })
}

describe('setting one’s own password', () => {
  it('keeps the calling session and ends all others', async () => {
    const ada = await hub.user()
    const other = await sessionOf(ada)
    const { userId } = ada
    expect(await ada.invoke('users_SetPassword', { userId, password: NEW_PASSWORD })).toEqual({})
    expect(await isSignedIn(ada.cookie)).toBe(true)
    expect(await isSignedIn(other)).toBe(false)
    expect(await passwordsThatWork(ada)).toEqual([false, true])
    expect(await auditEvents(hub, 'users_SetPassword')).toMatchObject([
      { data: { userId }, actor: { actor: 'User', userId }, action: 'users_SetPassword' },
    ])
    expect(await auditRows(hub, 'users_SetPassword')).toMatchObject([
      { data: { userId }, status: 'Succeeded' },
    ])
  })

  it('S1: needs the current password once the sign-in is no longer recent', async () => {
    const ada = await hub.user()
    await age(ada, 16)
    const input = { userId: ada.userId, password: NEW_PASSWORD }
    expect(await failed(ada.invoke('users_SetPassword', input))).toMatchObject({
      kind: 'Forbidden',
      message: 'Your sign-in is too old for this: it needs the current password.',
      issues: [{ path: 'currentPassword' }],
    })
    expect(
      await failed(ada.invoke('users_SetPassword', { ...input, currentPassword: 'wrong' })),
    ).toMatchObject({ kind: 'Forbidden', message: 'The current password is wrong.' })
    expect(await passwordsThatWork(ada)).toEqual([true, false])
    await ada.invoke('users_SetPassword', { ...input, currentPassword: ada.password })
    expect(await passwordsThatWork(ada)).toEqual([false, true])
    expect(await auditRows(hub, 'users_SetPassword')).toMatchObject([
      { status: 'Rejected' },
      { status: 'Rejected' },
      { status: 'Succeeded' },
    ])
  })

  it('S1: mails the owner about every change, by any action', async () => {
    const ada = await hub.user({ displayName: 'Ada' })
    const { userId, email } = ada
    const openings = async (count: number): Promise<string[]> =>
      (await hub.mailsTo(email, count)).map(({ subject, text }) => `${subject}: ${text.split('\n')[0]}`)
    const changed = (how: string) =>
      expect.stringMatching(
        new RegExp(`^Your password was changed: The password of your account at .* UTC, ${how}\\.$`),
      )
    await ada.invoke('users_SetPassword', { userId, password: NEW_PASSWORD })
    expect(await openings(1)).toEqual([changed('by somebody who was signed in to it')])
    const change = { userId, currentPassword: NEW_PASSWORD, newPassword: 'yet another one' }
    expect(await ada.invoke('users_ChangePassword', change)).toEqual({ result: 'Completed' })
    expect((await openings(2))[1]).toEqual(changed('by somebody who was signed in to it'))
    await admin.invoke('users_SetPassword', { userId, password: NEW_PASSWORD })
    expect((await openings(3))[2]).toEqual(changed('by an administrator of the hub'))
    await askForLink(email)
    await hub.mailsTo(email, 4)
    await reset(await mailedJwt(hub, 'PasswordReset', email), 'a fourth password')
    expect((await openings(5))[4]).toEqual(changed('with a link that was mailed to this address'))
    const mails = await hub.mailsTo(email, 5)
    for (const mail of mails)
      for (const secret of [NEW_PASSWORD, 'a fourth']) expect(mail.raw).not.toContain(secret)
    await expect.poll(() => auditEvents(hub, 'users_PasswordChangedEmailSent')).toHaveLength(4)
  })

  it('S8: ends the user tokens only with `endTokens`, and audits each of them', async () => {
    const ada = await hub.user()
    const { userId } = ada
    const token = await hub.userToken(ada)
    const isTokenGood = async () =>
      (await hub.withToken(token)('actor_GetActor', {})).actor.actor === 'UserToken'
    await ada.invoke('users_SetPassword', { userId, password: NEW_PASSWORD })
    expect(await isTokenGood()).toBe(true)
    await ada.invoke('users_SetPassword', { userId, password: 'yet another one', endTokens: true })
    expect(await isTokenGood()).toBe(false)
    expect(await auditEvents(hub, 'users_TokenDeleted')).toMatchObject([
      { data: { userId, name: 'test' }, action: 'users_SetPassword' },
    ])
    const second = await hub.userToken(ada)
    const change = { userId, currentPassword: 'yet another one', newPassword: NEW_PASSWORD, endTokens: true }
    await ada.invoke('users_ChangePassword', change)
    expect(await hub.withToken(second)('actor_GetActor', {})).toEqual({ actor: { actor: 'Anonymous' } })
  })

  it('S8: ends the user tokens when an administrator sets it or the owner resets it by mail', async () => {
    const ada = await hub.user()
    const actorOf = async (token: string) => (await hub.withToken(token)('actor_GetActor', {})).actor.actor
    const first = await hub.userToken(ada)
    await admin.invoke('users_SetPassword', { userId: ada.userId, password: NEW_PASSWORD })
    expect(await actorOf(first)).toBe('Anonymous')
    const second = await hub.userToken(ada)
    await askForLink(ada.email)
    await reset(await mailedJwt(hub, 'PasswordReset', ada.email), 'yet another one')
    expect(await actorOf(second)).toBe('Anonymous')
    expect(await auditEvents(hub, 'users_TokenDeleted')).toHaveLength(2)
  })

  it('voids a mailed link to set a password', async () => {
    const ada = await hub.user()
    await askForLink(ada.email)
    const jwt = await mailedJwt(hub, 'PasswordReset', ada.email)
    await ada.invoke('users_SetPassword', { userId: ada.userId, password: NEW_PASSWORD })
    expect(await reset(jwt, 'yet another one')).toEqual({ result: 'InvalidToken' })
    expect(await passwordsThatWork(ada)).toEqual([false, true])
  })

  it.each(['password1', 'PASSWORD1', 'Qwertyuiop', '12345678', 'iloveyou1'])(
    'C10: refuses the common password %j with an issue at its field',
    async password => {
      const ada = await hub.user()
      const error = await failed(ada.invoke('users_SetPassword', { userId: ada.userId, password }))
      expect(error).toMatchObject({
        kind: 'Invalid',
        message: COMMON,
        issues: [{ path: 'password', message: COMMON }],
      })
      expect(await passwordsThatWork(ada)).toEqual([true, false])
    },
  )

  const ADDRESS = 'Ada.Lovelace@Example.test'
  it.each([
    [ADDRESS.toUpperCase(), 'the address of the account'],
    ['ada.lovelace', 'a part of the address of the account'],
    ['Muster123', 'the name of the product'],
    ['muster-MUSTER', 'the name of the product'],
  ])('S15: refuses %j in every action that sets a password', async (password, what) => {
    const ada = await hub.user()
    const { userId } = ada
    await hub.db.deleteFrom('user').where('email', '=', ADDRESS).execute()
    await hub.db.updateTable('user').set({ email: ADDRESS }).where('user_id', '=', userId).execute()
    const message = `This password is ${what}: choose another.`
    const refused = (path = 'password') => ({ kind: 'Invalid', message, issues: [{ path, message }] })
    expect(await failed(ada.invoke('users_SetPassword', { userId, password }))).toMatchObject(refused())
    const change = { userId, currentPassword: ada.password, newPassword: password }
    expect(await failed(ada.invoke('users_ChangePassword', change))).toMatchObject(refused('newPassword'))
    await askForLink(ADDRESS)
    const jwt = await mailedJwt(hub, 'PasswordReset', ADDRESS)
    expect(await failed(reset(jwt, password))).toMatchObject(refused())
    const email = ADDRESS.replace('Example', 'other')
    const local = password === ADDRESS.toUpperCase() ? email : password
    const signUp = { email, password: local, consentedToTerms: true as const }
    expect(await failed(hub.pipeline.run(ANONYMOUS, 'users_Register', signUp))).toMatchObject(refused())
    expect(await failed(admin.invoke('users_Create', { email, password: local }))).toMatchObject(refused())
    expect((await signIn(hub, ADDRESS, ada.password)).status).toBe(200)
  })

  it.each(['mustermann', 'ada.lovelace2', 'Example.test'])(
    'S15: accepts %j, which only resembles a guessable password',
    async password => {
      const ada = await hub.user()
      const email = `ada.lovelace@${ada.userId}.example.test`
      await hub.db.updateTable('user').set({ email }).where('user_id', '=', ada.userId).execute()
      expect(await ada.invoke('users_SetPassword', { userId: ada.userId, password })).toEqual({})
    },
  )

  it.each([
    ['an empty string', ''],
    ['of seven blanks', '       '],
    ['too short', '1234567'],
    ['too short in characters but not in bytes', '😀'.repeat(7)],
    ['too long', 'x'.repeat(257)],
    ['far too long', 'x'.repeat(10_000)],
    ['a number', 12345678],
    ['null', null],
    ['a list', ['a staple of horses']],
  ])('refuses a password that is %s', async (_what, password) => {
    const ada = await hub.user()
    const error = await failed(
      ada.invoke('users_SetPassword', { userId: ada.userId, password: password as string }),
    )
    expect(error).toMatchObject({ kind: 'Invalid', issues: [{ path: 'password' }] })
    expect(await isSignedIn(ada.cookie)).toBe(true)
  })

  it.each([
    ' 8 with blanks ',
    'ÄÖÜ漢字😀😀😀',
    '\u202eright to left',
    '<script>alert(1)</script>',
    'x'.repeat(256),
    '😀'.repeat(256),
    'NUL\0 and \ud800 half',
  ])('accepts %j unchanged', async password => {
    const ada = await hub.user()
    await ada.invoke('users_SetPassword', { userId: ada.userId, password })
    expect((await signIn(hub, ada.email, password)).status).toBe(200)
    expect(
      (await signIn(hub, ada.email, password.trim() === password ? `${password} ` : password.trim())).status,
    ).toBe(401)
  })

  it('S37: is forbidden for a user token, with the current password too', async () => {
    const ada = await hub.user()
    const boss = await hub.user({ isAdmin: true })
    const { userId } = ada
    const input = { userId, password: NEW_PASSWORD }
    const forbidden = {
      kind: 'Forbidden',
      message: 'This needs a person who is signed in; a user token cannot do it.',
    }
    for (const person of [ada, boss]) {
      const byToken = hub.withToken(await hub.userToken(person))
      for (const currentPassword of [undefined, 'wrong', person.password])
        expect(await failed(byToken('users_SetPassword', { ...input, currentPassword }))).toMatchObject(
          forbidden,
        )
    }
    const byToken = hub.withToken(await hub.userToken(ada))
    const change = { userId, currentPassword: ada.password, newPassword: NEW_PASSWORD }
    expect(await failed(byToken('users_ChangePassword', change))).toMatchObject(forbidden)
    const asBoss = hub.withToken(await hub.userToken(boss))
    const account = { email: `${newId('u')}@test.example`, password: NEW_PASSWORD }
    expect(
      await failed(asBoss('users_Create', { ...account, currentPassword: boss.password })),
    ).toMatchObject(forbidden)
    expect(await isSignedIn(ada.cookie)).toBe(true)
    expect(await passwordsThatWork(ada)).toEqual([true, false])
  })
})

describe('setting the password of somebody else', () => {
  it('is for administrators with a recent sign-in, and ends all sessions of the account', async () => {
    const ada = await hub.user()
    const boss = await hub.user({ isAdmin: true })
    const input = { userId: ada.userId, password: NEW_PASSWORD }
    await age(boss, 16)
    expect(await failed(boss.invoke('users_SetPassword', input))).toMatchObject({
      kind: 'Forbidden',
      issues: [{ path: 'currentPassword' }],
    })
    expect(await isSignedIn(ada.cookie)).toBe(true)
    await boss.invoke('users_SetPassword', { ...input, currentPassword: boss.password })
    await age(boss, 14)
    await boss.invoke('users_SetPassword', input)
    expect(await isSignedIn(ada.cookie)).toBe(false)
    expect(await isSignedIn(boss.cookie)).toBe(true)
    const otherTenant = await hub.user()
    expect(await failed(otherTenant.invoke('users_SetPassword', input))).toMatchObject({
      kind: 'Forbidden',
    })
  })
})

describe('changing one’s own password', () => {
  it('needs the current password', async () => {
    const ada = await hub.user()
    const { userId } = ada
    const other = await sessionOf(ada)
    const change = (currentPassword: string) =>
      ada.invoke('users_ChangePassword', { userId, currentPassword, newPassword: NEW_PASSWORD })
    expect(await change('wrong')).toEqual({ result: 'InvalidCurrentPassword' })
    expect(await isSignedIn(other)).toBe(true)
    expect(await change(ada.password)).toEqual({ result: 'Completed' })
    expect(await isSignedIn(other)).toBe(false)
    expect(await isSignedIn(ada.cookie)).toBe(true)
    expect(await passwordsThatWork(ada)).toEqual([false, true])
    expect(await auditEvents(hub, 'users_SetPassword')).toMatchObject([
      { data: { userId }, action: 'users_ChangePassword' },
    ])
  })

  it('limits attempts, and calls of other people do not use the attempts up', async () => {
    const ada = await hub.user()
    const otherTenant = await hub.user()
    const input = { userId: ada.userId, currentPassword: 'wrong', newPassword: NEW_PASSWORD }
    const kinds = async (invoke: TestUser['invoke']): Promise<string[]> =>
      Promise.all(
        Array.from(
          { length: 12 },
          async () =>
            (
              await failed(
                invoke('users_ChangePassword', input).then(({ result }) => {
                  throw new ActionError('Invalid', result)
                }),
              )
            ).kind,
        ),
      )
    expect((await kinds(otherTenant.invoke)).filter(kind => kind === 'Forbidden')).toHaveLength(10)
    expect((await kinds(ada.invoke)).filter(kind => kind === 'RateLimited')).toHaveLength(2)
  })
})

describe('a mailed link to set a password', () => {
  it.each([
    ['users_ResetPassword', async () => (await hub.user()).email],
    [
      'users_ResendRegistrationEmail',
      async () => {
        const email = `new-${crypto.randomUUID()}@test.example`
        const input = { email, password: NEW_PASSWORD, consentedToTerms: true as const }
        await hub.anonymous('users_Register', input)
        return email
      },
    ],
  ] as const)(
    'S38: is requested by %s with the same statements before the answer, with and without an account',
    async (name, newAccount) => {
      /** Texts of the statements about accounts and the log that the hub sends before the answer, and of those after it. */
      async function statementsOf(email: string): Promise<{ before: string[]; after: string[] }> {
        const queries = vi.spyOn(PreparingClient.prototype, 'query')
        const texts = (): string[] =>
          queries.mock.calls
            .map(([query]) => String(typeof query === 'string' ? query : query.text))
            .filter(text => /audit_action|mailed_token|registration|"user"/.test(text))
            // The job of an earlier mail reads its link at any time.
            .filter(text => !text.includes('from "mailed_token" as "t"'))
        try {
          let count = 0
          await hub.pipeline.run(ANONYMOUS, name, { email }).then(() => {
            count = texts().length
          })
          await hub.pipeline.settled(60_000)
          return { before: texts().slice(0, count), after: texts().slice(count) }
        } finally {
          queries.mockRestore()
        }
      }
      const email = await newAccount()
      const unknown = await statementsOf(`nobody-${crypto.randomUUID()}@test.example`)
      const known = await statementsOf(email)
      expect(known.before).toEqual(unknown.before)
      expect(known.before.join()).toContain('audit_action')
      expect(known.before.join()).not.toMatch(/mailed_token|"user"/)
      expect(unknown.after.join()).not.toContain('mailed_token')
      expect(known.after.join()).toContain('mailed_token')
    },
  )

  it('works once, ends every session, and is audited', async () => {
    const ada = await hub.user()
    const { userId } = ada
    expect(await hub.anonymous('users_ResetPassword', { email: ada.email.toUpperCase() })).toEqual({})
    const jwt = await mailedJwt(hub, 'PasswordReset', ada.email)
    expect(
      await ada.invoke('users_CompletePasswordReset', { resetToken: jwt, password: NEW_PASSWORD }),
    ).toEqual({
      result: 'Completed',
    })
    expect(await isSignedIn(ada.cookie)).toBe(false)
    expect(await reset(jwt, 'yet another one')).toEqual({ result: 'InvalidToken' })
    // C7 (docs/goals.md): the audit row of the second use of the link has the status `Failed` and contains the result of the call.
    expect(await auditRows(hub, 'users_CompletePasswordReset')).toMatchObject([
      { status: 'Succeeded', data: {} },
      { status: 'Failed', data: { result: 'InvalidToken' } },
    ])
    expect(await passwordsThatWork(ada)).toEqual([false, true])
    const events = (await auditEvents(hub)).filter(({ event }) =>
      /Password.*(Requested|Completed)$/.test(event),
    )
    expect(events).toMatchObject([
      { event: 'users_PasswordResetRequested', data: { userId }, action: 'users_ResetPassword' },
      { event: 'users_PasswordResetCompleted', data: { userId }, action: 'users_CompletePasswordReset' },
    ])
    const everything = JSON.stringify([await auditRows(hub), await auditEvents(hub)])
    for (const secret of [NEW_PASSWORD, jwt.split('.')[2]!]) expect(everything).not.toContain(secret)
  })

  it.each([
    [
      'by a call with an older session',
      ({ userId, invoke }: TestUser) =>
        failed(invoke('users_SetPassword', { userId, password: 'what a thief wants' })),
      { kind: 'Forbidden' },
    ],
    [
      'by a change with the old password',
      ({ userId, password, invoke }: TestUser) =>
        invoke('users_ChangePassword', {
          userId,
          currentPassword: password,
          newPassword: 'what a thief wants',
        }),
      { result: 'InvalidCurrentPassword' },
    ],
    [
      'by a user token that an older session creates (S8)',
      ({ userId, invoke }: TestUser) => failed(invoke('users_CreateToken', { userId })),
      { kind: 'Forbidden' },
    ],
  ])('is not undone %s that was already in flight', async (_what, undo, answer) => {
    const ada = await hub.user()
    const { userId, email } = ada
    await askForLink(email)
    const jwt = await mailedJwt(hub, 'PasswordReset', email)
    const calls: Promise<unknown>[] = []
    await hub.db.transaction().execute(async tx => {
      // This transaction locks the row of the account, so both calls wait. The reset is the first to wait and gets the lock first.
      await tx.selectFrom('user').where('user_id', '=', userId).select('user_id').forUpdate().execute()
      calls.push(reset(jwt, NEW_PASSWORD))
      await waiting(1)
      calls.push(undo(ada))
      await waiting(2)
    })
    expect(await Promise.all(calls)).toMatchObject([{ result: 'Completed' }, answer])
    expect((await signIn(hub, email, NEW_PASSWORD)).status).toBe(200)
  })

  it('works once when it is used five times at once', async () => {
    const ada = await hub.user()
    await askForLink(ada.email)
    const jwt = await mailedJwt(hub, 'PasswordReset', ada.email)
    const passwords = Array.from({ length: 5 }, (_, number) => `${NEW_PASSWORD} ${number}`)
    const answers = await Promise.all(passwords.map(password => reset(jwt, password)))
    const winner = answers.findIndex(({ result }) => result === 'Completed')
    expect(answers.filter(({ result }) => result === 'InvalidToken')).toHaveLength(4)
    expect((await signIn(hub, ada.email, passwords[winner]!)).status).toBe(200)
  })

  it('works after newer links were sent, and after a refused password', async () => {
    const ada = await hub.user()
    await askForLink(ada.email)
    const first = await mailedJwt(hub, 'PasswordReset', ada.email)
    await askForLink(ada.email)
    const second = await mailedJwt(hub, 'PasswordReset', ada.email)
    expect(await failed(reset(first, 'password1'))).toMatchObject({ kind: 'Invalid', message: COMMON })
    expect(await isSignedIn(ada.cookie)).toBe(true)
    expect(await reset(first, NEW_PASSWORD)).toEqual({ result: 'Completed' })
    expect(await reset(second, 'yet another one')).toEqual({ result: 'InvalidToken' })
    expect(await passwordsThatWork(ada)).toEqual([false, true])
  })

  it('is sent at most five times an hour, each with an audit event', async () => {
    const ada = await hub.user()
    await Promise.all(Array.from({ length: 8 }, () => askForLink(ada.email)))
    expect(await hub.mailsTo(ada.email, 5)).toHaveLength(5)
    expect(await auditEvents(hub, 'users_PasswordResetRequested')).toHaveLength(5)
    expect(await reset(await mailedJwt(hub, 'PasswordReset', ada.email), NEW_PASSWORD)).toEqual({
      result: 'Completed',
    })
  })

  it('works for a week for an account without a password, also when it is requested again', async () => {
    const email = 'without@example.test'
    await admin.invoke('users_Create', { email })
    const first = await mailedJwt(hub, 'PasswordReset', email)
    await askForLink(email)
    const rows = await hub.db
      .selectFrom('mailed_token as t')
      .innerJoin('user as u', 'u.user_id', 't.user_id')
      .where('u.email', '=', email)
      .select(['t.expires_at', 't.created_at'])
      .execute()
    const days = rows.map(row => (row.expires_at.getTime() - row.created_at.getTime()) / (24 * 60 * 60_000))
    expect(days.map(Math.round)).toEqual([7, 7])
    expect(await reset(first, NEW_PASSWORD)).toEqual({ result: 'Completed' })
  })

  it('expires after an hour', async () => {
    const ada = await hub.user()
    await askForLink(ada.email)
    const row = await hub.db
      .selectFrom('mailed_token')
      .where('user_id', '=', ada.userId)
      .select(['expires_at', 'created_at'])
      .executeTakeFirstOrThrow()
    expect(row.expires_at.getTime() - row.created_at.getTime()).toBeCloseTo(60 * 60 * 1000, -4)
  })

  it('is requested with the same answer whether or not there is an active account', async () => {
    const off = await hub.user()
    await hub.db.updateTable('user').set({ is_active: false }).where('user_id', '=', off.userId).execute()
    await hub.pipeline.run(ANONYMOUS, 'users_Register', {
      email: 'unfinished@example.test',
      password: NEW_PASSWORD,
      consentedToTerms: true,
    })
    for (const email of ['nobody@example.test', off.email, 'unfinished@example.test'])
      expect(await askForLink(email)).toEqual({})
    const rows = await hub.db
      .selectFrom('mailed_token')
      .where('purpose', '=', 'PasswordReset')
      .where('user_id', '=', off.userId)
      .selectAll()
      .execute()
    expect(rows).toEqual([])
    expect(await auditEvents(hub, 'users_PasswordResetRequested')).toEqual([])
  })
})

describe('initial-admin.json', () => {
  it('stays while its password is valid and is deleted when that password changes', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'muster-first-'))
    await using first = await testHub({ dataDir })
    const file = join(dataDir, 'initial-admin.json')
    const { email, password } = JSON.parse(await readFile(file, 'utf8')) as {
      email: string
      password: string
    }
    const other = await first.user({ isAdmin: true })
    await other.invoke('users_SetPassword', { userId: other.userId, password: NEW_PASSWORD })
    expect(existsSync(file)).toBe(true)
    expect((await signIn(first, email, password)).status).toBe(200)
    await first.pipeline.run(ANONYMOUS, 'users_ResetPassword', { email })
    const resetToken = await mailedJwt(first, 'PasswordReset', email)
    await first.pipeline.run(ANONYMOUS, 'users_CompletePasswordReset', { resetToken, password: NEW_PASSWORD })
    await until('the removal of the file', () => !existsSync(file))
  })
})
