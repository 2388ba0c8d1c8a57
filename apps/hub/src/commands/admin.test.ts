import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  auditEvents,
  clearAudit,
  databaseSession,
  signIn,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type Ran, runHere } from './testing/run-here.ts'
import { MAIN, startProcess } from './testing/start-process.ts'

/** Program of util-linux that runs another program on a pseudo-terminal. */
const SCRIPT = '/usr/bin/script'

let hub: TestHub
let folder: string

beforeAll(async () => {
  hub = await testHub()
  folder = await mkdtemp(join(tmpdir(), 'muster-admin-'))
})
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})
beforeEach(() => clearAudit(hub))

const settings = () => ({
  MUSTER_DATABASE_URL: hub.pool.options.connectionString!,
  MUSTER_DATA_DIR: hub.dataDir,
})

function admin(words: string[], input?: string): Promise<Ran> {
  return runHere(['admin', ...words], settings(), { ...(input !== undefined && { input }) })
}

/** Status of a sign-in. */
async function signInStatus(email: string, password: string): Promise<number> {
  return (await signIn(hub, email, password)).status
}

/** Names of the audit events, with their actor and the action that caused them, without those of sign-ins and mails. */
async function events(): Promise<unknown[]> {
  return (await auditEvents(hub))
    .filter(({ event }) => !/SessionInitiated|EmailSent/.test(event))
    .map(({ event, actor, action }) => [event, (actor as { actor: string }).actor, action])
}

it('creates an administrator, whose password is printed once', async () => {
  const { code, out, err } = await admin(['create', ' grace@example.com', '--name', 'Grace'])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const [, password] =
    /^grace@example\.com is an administrator of the instance\.\nPassword, shown only here: (\S{19})\n$/.exec(
      out,
    )!
  expect(await events()).toEqual([
    ['users_Created', 'System', null],
    ['organizations_Created', 'System', null],
    ['organizations_MemberAdded', 'System', null],
  ])
  expect(await signInStatus('grace@example.com', password!)).toBe(200)
  const account = await hub.db
    .selectFrom('user')
    .where('email', '=', 'grace@example.com')
    .select(['is_admin', 'display_name'])
    .executeTakeFirst()
  expect(account).toEqual({ is_admin: true, display_name: 'Grace' })

  expect(await admin(['create', 'Grace@example.com'])).toEqual({
    code: 1,
    out: '',
    err: 'Grace@example.com: found an account with this address, expected none. muster-hub admin reset-password Grace@example.com sets its password.\n',
  })
  expect((await admin(['create', 'grace'])).err).toMatch(/^email: [^\n]+\n$/)
  expect(await admin(['create'])).toEqual({
    code: 2,
    out: '',
    err: "missing required argument 'email'. See muster-hub admin create --help\n",
  })
  expect((await admin(['create', 'a@example.com', '--ask', '--password-file', 'x'])).err).toBe(
    "option '--ask' cannot be used with option '--password-file <file>'. See muster-hub admin create --help\n",
  )
})

it('resets a password and ends what the old one gave', async () => {
  const ada = await hub.user({ isAdmin: true })
  const token = await hub.userToken(ada)
  await writeFile(join(folder, 'password'), 'a password from a file\r\nsecond line\n')
  const file = await admin([
    'reset-password',
    ada.email,
    '--password-file',
    join(folder, 'password'),
    '--json',
  ])
  expect({ ...file, out: JSON.parse(file.out) }).toEqual({
    code: 0,
    out: { userId: ada.userId, email: ada.email, isAdmin: true, isActive: true },
    err: '',
  })
  await expect(ada.invoke('users_GetDetails', { userId: ada.userId })).rejects.toThrow()
  await expect(hub.withToken(token)('users_GetDetails', { userId: ada.userId })).rejects.toThrow()
  expect(await signInStatus(ada.email, ada.password)).toBe(401)
  expect(await signInStatus(ada.email, 'a password from a file')).toBe(200)
  expect(await events()).toEqual([
    ['users_TokenDeleted', 'System', null],
    ['users_SetPassword', 'System', null],
  ])
  expect((await hub.mailsTo(ada.email))[0]).toMatchObject({ subject: 'Your password was changed' })

  const member = await hub.user()
  const asked = await admin(['reset-password', member.email, '--ask'], 'a typed password\n')
  expect(asked).toEqual({
    code: 0,
    out: `The password of ${member.email} was set, and its sessions and user tokens have ended. It is not an administrator of the instance.\n`,
    err: '',
  })
  expect(await signInStatus(member.email, 'a typed password')).toBe(200)

  const { email } = hub.firstRun!
  expect(existsSync(hub.firstRun!.file)).toBe(true)
  expect((await admin(['reset-password', email])).out).toMatch(/\nPassword, shown only here: \S{19}\n$/)
  expect(existsSync(hub.firstRun!.file)).toBe(false)
})

it.each([
  ['short', /^password: [^\n]*8 to 256 characters\.\n$/],
  ['password1', /^This password is one of the most common ones: choose another\.\n$/],
  ['ada@example.com', /^This password is the address of the account: choose another\.\n$/],
  ['', /^New password: found nothing, expected it at the prompt or in a file, with --password-file\.\n$/],
])('refuses the password "%s" in one line', async (password, line) => {
  for (const words of [
    ['create', 'ada@example.com'],
    ['reset-password', 'ada@example.com'],
  ])
    expect(await admin([...words, '--ask'], `${password}\n`)).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(line),
    })
})

it('disables an account, but never the last administrator', async () => {
  const ada = await hub.user({ isAdmin: true })
  expect(await admin(['disable', ada.email])).toEqual({
    code: 0,
    out: `${ada.email} is disabled, and its sessions and user tokens have ended.\n`,
    err: '',
  })
  await expect(ada.invoke('users_GetDetails', { userId: ada.userId })).rejects.toThrow()
  expect(await events()).toEqual([
    ['users_SessionTerminated', 'System', null],
    ['users_SetIsActive', 'System', null],
  ])
  expect((await admin(['disable', ada.email])).out).toBe(`${ada.email} was disabled already.\n`)
  expect((await admin(['reset-password', ada.email])).out).toContain('It is disabled and cannot sign in.')
  expect(await admin(['disable', 'nobody@example.com'])).toEqual({
    code: 1,
    out: '',
    err: 'nobody@example.com: found no account with this address, expected one.\n',
  })
  await hub.db
    .updateTable('user')
    .set({ is_admin: false })
    .where('email', '<>', hub.firstRun!.email)
    .execute()
  expect(await admin(['disable', hub.firstRun!.email])).toEqual({
    code: 1,
    out: '',
    err: 'This is the last administrator of the instance: name another one first.\n',
  })
})

it.skipIf(!existsSync(SCRIPT))('asks for the password at a terminal and does not show it', async () => {
  const ada = await hub.user({ isAdmin: true })
  const command = [process.execPath, MAIN, 'admin', 'reset-password', ada.email, '--ask'].join(' ')
  const child = spawn(SCRIPT, ['-qec', command, '/dev/null'], {
    env: { ...settings(), PATH: '/usr/bin:/bin' },
  })
  let screen = ''
  child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString()))
  await until('it asks', () => screen.includes('New password: '))
  child.stdin.write('a typed password\r')
  const [code] = await once(child, 'close')
  expect(code).toBe(0)
  expect(screen).not.toContain('typed')
  expect(await signInStatus(ada.email, 'a typed password')).toBe(200)
})

it('leaves nothing half done when it is killed', async () => {
  await using session = await databaseSession(hub)
  await session.lock('audit_event')
  const { child, ended } = startProcess(['admin', 'create', 'killed@example.com'], settings())
  await session.waitingStatements(1)
  child.kill('SIGKILL')
  await ended
  await session.release()
  await until('its session has ended', async () => {
    const rows = await session.query(
      "select from pg_stat_activity where datname = current_database() and query like '%audit_event%' and state <> 'idle' and pid <> pg_backend_pid()",
    )
    return rows.length === 0
  })
  expect(
    await hub.db.selectFrom('user').where('email', '=', 'killed@example.com').select('user_id').execute(),
  ).toEqual([])
  expect(await events()).toEqual([])
  expect((await admin(['create', 'killed@example.com'])).code).toBe(0)
})
