import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { newId } from '@muster/actions'
import {
  auditEvents,
  capturedLog,
  freePort,
  type MailServer,
  mailServer,
  mailsIn,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { expect, it } from 'vitest'
import { invitationMail } from '../../features/organizations/invitation-mail.ts'
import { createLog } from '../runtime/log.ts'
import { MailWatch } from './mail-watch.ts'
import { createMailer, type Mailer, MailRefused } from './mailer.ts'

const HOUR_MS = 60 * 60 * 1000

type Person = { displayName?: string; email?: string; hasPassword?: boolean }

const MAIL = { to: { address: 'a@test.example' }, subject: 's', text: 't', html: 'h', link: 'l' }

function mailerOn(smtpUrl: string): Mailer {
  const log = createLog('silent')
  return createMailer({ smtpUrl, mailFrom: 'hub@muster.example', dataDir: 'unused', log })
}

/** Inserts an account with a mailed link. */
async function linkOf(hub: TestHub, purpose: 'Activation' | 'PasswordReset', person: Person = {}) {
  const userId = newId('u')
  const email = person.email ?? `${userId}@test.example`
  const jwtId = `jwt-${userId}`
  const expiresAt = new Date(Date.now() + HOUR_MS)
  await hub.db
    .insertInto('user')
    .values({
      user_id: userId,
      email,
      display_name: person.displayName ?? null,
      password_hash: person.hasPassword ? 'a hash' : null,
      is_active: purpose === 'PasswordReset',
    })
    .execute()
  await hub.db
    .insertInto('mailed_token')
    .values({ jwt_id: jwtId, purpose, user_id: userId, expires_at: expiresAt })
    .execute()
  return { userId, email, jwtId }
}

const jwtOf = (link: string): string => new URL(link).searchParams.get('jwt')!

/** Waits until a job has failed and is queued for its retry, then makes the retry due. */
async function nextAttempt(hub: TestHub): Promise<void> {
  await until('the job waits for its next attempt', async () => {
    const { rowCount } = await hub.pool.query(
      `update pgboss.job set start_after = now() where state = 'retry' and start_after > now()`,
    )
    return rowCount === 1
  })
  hub.jobs.wake('users_SendRegistrationEmail')
}

async function onServer(server: MailServer): Promise<TestHub> {
  return testHub({ smtpUrl: server.url, mailFrom: 'Prüfstand <hub@muster.example>' })
}

it('sends the activation mail through the mail server, in both forms, with a link that works', async () => {
  await using server = await mailServer()
  await using hub = await onServer(server)
  const { userId, email, jwtId } = await linkOf(hub, 'Activation', { displayName: 'Not to be said' })
  const job = await hub.runJob('users_SendRegistrationEmail', { jwtId })
  expect(job).toMatchObject({ status: 'Completed', attempts: 1, queued: false })
  expect(server.mails).toHaveLength(1)
  const mail = server.mails[0]!
  expect(mail).toMatchObject({ envelope: [email], to: [email], subject: 'Activate your account' })
  expect(mail.email.from).toEqual({ name: 'Prüfstand', address: 'hub@muster.example' })
  expect(mail.link).toContain(`${hub.publicUrl}/signup/verify?jwt=`)
  expect(await hub.jwts.verify('Activation', jwtOf(mail.link))).toEqual({ jwtId, userId })
  expect(await hub.jwts.verify('PasswordReset', jwtOf(mail.link))).toBeUndefined()
  expect(mail.html).toContain(`href="${mail.link}"`)
  expect(mail.html).toContain('<meta name="color-scheme" content="light dark">')
  expect(mail.html).not.toMatch(/<img|<script|src=/)
  expect(mail.text).toMatch(/The link works once, until \d+ \w+ \d{4} at \d\d:\d\d UTC\./)
  expect(mail.raw).not.toContain('Not to be said')
  expect(await auditEvents(hub, 'users_RegistrationEmailSent')).toMatchObject([
    { actor: { actor: 'System' }, data: { userId, email } },
  ])
  const written = await hub.db
    .selectFrom('audit_event')
    .where('job_id', '=', job.jobId)
    .select('event')
    .execute()
  expect(written).toEqual([{ event: 'users_RegistrationEmailSent' }])
})

it('sends different password mails to accounts with and without a password', async () => {
  await using server = await mailServer()
  await using hub = await onServer(server)
  const old = await linkOf(hub, 'PasswordReset', { hasPassword: true, displayName: 'Zoë Müller 🚀' })
  await hub.runJob('users_SendPasswordEmail', { jwtId: old.jwtId })
  const fresh = await linkOf(hub, 'PasswordReset')
  await hub.runJob('users_SendPasswordEmail', { jwtId: fresh.jwtId })
  expect(server.mails.map(({ subject }) => subject)).toEqual([
    'Reset your password',
    'Set the password of your new account',
  ])
  expect(server.mails[0]!.email.to).toEqual([{ name: 'Zoë Müller 🚀', address: old.email }])
  expect(server.mails[0]!.link).toContain(`${hub.publicUrl}/set-password?jwt=`)
  expect(await hub.jwts.verify('PasswordReset', jwtOf(server.mails[1]!.link))).toMatchObject({
    userId: fresh.userId,
  })
  expect(await auditEvents(hub, 'users_PasswordResetEmailSent')).toHaveLength(2)
})

it('names the inviting person, and asks people without an account to sign up', async () => {
  await using server = await mailServer()
  await using hub = await onServer(server)
  const owner = await hub.user({ displayName: 'Ölçer & Söhne' })
  const member = await hub.user()
  const organizationId = await hub.organization(owner)
  const name = 'Füße <b>"GmbH"</b>\u202e 日本'
  await hub.db.updateTable('organization').set({ name }).execute()
  for (const email of [member.email.toUpperCase(), 'new@test.example']) {
    const invitationId = newId('org_invite')
    await hub.db
      .insertInto('organization_invitation')
      .values({
        invitation_id: invitationId,
        organization_id: organizationId,
        email,
        inviting_user_id: owner.userId,
      })
      .execute()
    await hub.runJob('organizations_SendInvitationEmail', { invitationId })
    expect(await auditEvents(hub, 'organizations_InvitationEmailSent')).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ data: { organizationId, invitationId, email }, organizationId }),
      ]),
    )
  }
  const [toMember, toOtherAddress] = server.mails
  expect(toMember!.subject).toBe('Invitation to Füße <b>"GmbH"</b>  日本')
  expect(toMember!.text).toContain('Ölçer & Söhne invites you to the organization')
  expect(toMember!.html).toContain('Füße &lt;b&gt;&quot;GmbH&quot;&lt;/b&gt;')
  expect(toMember!.html).not.toContain('<b>')
  expect(toMember!.link).toBe(`${hub.publicUrl}/user/invitations`)
  expect(toOtherAddress!.link).toMatch(new RegExp(`^${hub.publicUrl}/signup/\\?invitation=[0-9a-f-]{36}$`))
  expect(toOtherAddress!.text).toContain('sign up with this address')
})

it('does not link to the sign-up page while sign-up is closed', () => {
  const invitation = {
    email: 'a@test.example',
    organizationName: 'o',
    inviterName: undefined,
    hasAccount: false,
    link: 'https://hub.example/signup/?invitation=x',
    expiresAt: null,
  }
  const mail = invitationMail({ ...invitation, maySignUp: false, publicUrl: 'https://hub.example' })
  expect(mail.link).toBe('https://hub.example/user/invitations')
  expect(mail.text).toMatch(
    /^You are invited to the organization “o”.* you need an account with this address/,
  )
})

it('keeps names and addresses from adding recipients or headers', async () => {
  await using server = await mailServer()
  await using hub = await onServer(server)
  const names = [
    'Eve\r\nBcc: evil@test.example',
    'Eve <evil@test.example>, Other',
    '"Eve" <evil@test.example>',
    'evil@test.example',
    '=?utf-8?q?evil=40test.example?=,',
    '٠‮evil@test.example',
  ]
  for (const displayName of names) {
    const { jwtId } = await linkOf(hub, 'PasswordReset', { displayName })
    await hub.runJob('users_SendPasswordEmail', { jwtId })
  }
  expect(server.mails).toHaveLength(names.length)
  for (const mail of server.mails) {
    expect(mail.envelope).toHaveLength(1)
    expect(mail.envelope[0]).toMatch(/^u_/)
    expect(mail.to).toEqual(mail.envelope)
    expect(mail.email.headers.map(({ key }) => key)).not.toContain('bcc')
  }
  // The API refuses such addresses, so the test inserts them into the database directly.
  const before = server.mails.length
  for (const email of [
    'evil@test.example, other@test.example',
    'a@test.example>\r\nRCPT TO:<evil@test.example',
    'a@test.example\r\nBcc: evil@test.example',
  ]) {
    const { jwtId } = await linkOf(hub, 'Activation', { email })
    await hub.runJob('users_SendRegistrationEmail', { jwtId })
  }
  for (const mail of server.mails.slice(before)) {
    expect(mail.envelope).not.toContain('evil@test.example')
    expect(mail.email.headers.map(({ key }) => key)).not.toContain('bcc')
  }
})

it('retries after a temporary rejection by the mail server', async () => {
  await using server = await mailServer()
  await using hub = await onServer(server)
  server.refuseNext(2, 450)
  const { jwtId } = await linkOf(hub, 'Activation')
  const ended = hub.runJob('users_SendRegistrationEmail', { jwtId })
  ended.catch(() => {})
  await nextAttempt(hub)
  await nextAttempt(hub)
  expect(await ended).toMatchObject({ status: 'Completed', attempts: 3 })
  expect(server.attempts()).toBe(3)
  expect(server.mails).toHaveLength(1)
})

it('retries until the mail server is reachable again', async () => {
  await using server = await mailServer({ port: await freePort() })
  await using hub = await onServer(server)
  await server.stop()
  const { jwtId, email } = await linkOf(hub, 'Activation')
  const ended = hub.runJob('users_SendRegistrationEmail', { jwtId })
  ended.catch(() => {})
  await until('the job waits', async () => {
    const filter = { job: 'users_SendRegistrationEmail' }
    const { jobs } = await hub.pipeline.run({ actor: 'System' }, 'jobs_Query', { filter })
    return jobs[0]?.status === 'Pending' && jobs[0].queued && jobs[0].attempts === 1
  })
  await using again = await mailServer({ port: Number(new URL(server.url).port) })
  await nextAttempt(hub)
  expect(await ended).toMatchObject({ status: 'Completed', attempts: 2 })
  expect(again.mails).toMatchObject([{ to: [email] }])
})

it('does not retry after a permanent rejection of the recipient', async () => {
  await using server = await mailServer()
  await using hub = await onServer(server)
  server.refuseNext(9, 550)
  const { jwtId } = await linkOf(hub, 'Activation')
  expect(await hub.runJob('users_SendRegistrationEmail', { jwtId })).toMatchObject({
    status: 'Failed',
    attempts: 1,
  })
  expect(server.attempts()).toBe(1)
  expect(await auditEvents(hub, 'users_RegistrationEmailSent')).toEqual([])
})

it('stops waiting for an unresponsive mail server when its signal aborts', async () => {
  await using server = await mailServer()
  server.hang()
  await using mailer = mailerOn(server.url)
  const overAt = new AbortController()
  const sent = mailer.send(MAIL, overAt.signal)
  await until('the server has the mail', () => server.attempts() === 1)
  overAt.abort()
  await expect(sent).rejects.toMatchObject({ name: 'AbortError' })
})

it('signs in to the mail server, and refuses an untrusted certificate', async () => {
  await using server = await mailServer({ secure: true, password: 'p@ss:word' })
  const url = server.url.replace('://', '://hub:p%40ss%3Aword@')
  const { signal } = new AbortController()
  await using trusting = mailerOn(`${url}?tls.rejectUnauthorized=false`)
  await trusting.send(MAIL, signal)
  expect(server.mails).toMatchObject([{ to: ['a@test.example'], from: 'hub@muster.example' }])

  await using careful = mailerOn(url)
  await expect(careful.send(MAIL, signal)).rejects.toMatchObject({ code: 'ESOCKET' })
  await using mistaken = mailerOn(`${url.replace('word', 'ward')}?tls.rejectUnauthorized=false`)
  const error = await mistaken.send(MAIL, signal).catch((error: Error) => error)
  expect(error).toMatchObject({ code: 'EAUTH' })
  expect(error).not.toBeInstanceOf(MailRefused)
  expect(String((error as Error).stack)).not.toContain('p@ss')
  expect(server.mails).toHaveLength(1)
})

/** Watches a mailer with frequent checks. `reason` is the reason for which the hub would be degraded. */
function watched(smtpUrl: string, checkIntervalMs = 20) {
  const { log, named } = capturedLog('info')
  let reason: string | undefined
  const readiness = {
    degrade(_part: string, why: string) {
      reason = why
    },
    restore() {
      reason = undefined
    },
  }
  const watch = new MailWatch(mailerOn(smtpUrl), { readiness, log, measures: undefined, checkIntervalMs })
  return { watch, named, reason: () => reason }
}

it('is part of the health: degraded while the mail server does not answer', async () => {
  await using server = await mailServer({ port: await freePort() })
  const { watch, named, reason } = watched(server.url)
  await using _ = watch
  expect([watch.isReachable, reason()]).toEqual([true, undefined])
  await server.stop()
  await until('the check fails', () => reason() === 'the mail server does not answer')
  expect(watch.isReachable).toBe(false)
  await using _again = await mailServer({ port: Number(new URL(server.url).port) })
  await until('the check succeeds', () => reason() === undefined)
  expect(named('the mail server does not answer')).toMatchObject([
    { problem: expect.stringContaining('REFUSED') },
  ])
  expect(named('the mail server answers again')).toHaveLength(1)
})

it('is part of the health: degraded if the mail server closes connections before its greeting', async () => {
  const server = createServer(socket => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { watch, reason } = watched(`smtp://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await using _ = watch
  await until('the check fails', () => reason() === 'the mail server does not answer')
  server.close()
})

it('is part of the health: degraded after three failed deliveries, not after refusals of mails or recipients', async () => {
  await using server = await mailServer({ port: await freePort() })
  const { watch, named, reason } = watched(server.url, 60_000)
  await using _ = watch
  const send = () => watch.send(MAIL, new AbortController().signal).catch((error: Error) => error)
  server.refuseNext(4, 550)
  for (let at = 0; at < 4; at++) expect(await send()).toBeInstanceOf(MailRefused)
  server.refuseNext(4, 450)
  for (let at = 0; at < 4; at++) expect(await send()).toBeInstanceOf(Error)
  expect(reason()).toBeUndefined()
  await server.stop()
  await send()
  await send()
  expect(reason()).toBeUndefined()
  await send()
  expect(reason()).toBe('the last 3 deliveries of mails failed')
  await using _again = await mailServer({ port: Number(new URL(server.url).port) })
  await send()
  expect(reason()).toBeUndefined()
  expect(named('the last mails could not be delivered')).toHaveLength(1)
  expect(named('mails are delivered again')).toHaveLength(1)
})

it('sends no mail for a link that was used, has expired or does not exist', async () => {
  await using server = await mailServer()
  await using hub = await onServer(server)
  const used = await linkOf(hub, 'Activation')
  await hub.db
    .updateTable('mailed_token')
    .set({ used_at: new Date() })
    .where('jwt_id', '=', used.jwtId)
    .execute()
  const over = await linkOf(hub, 'Activation')
  await hub.db
    .updateTable('mailed_token')
    .set({ expires_at: new Date(Date.now() - 1000) })
    .where('jwt_id', '=', over.jwtId)
    .execute()
  const otherPurpose = await linkOf(hub, 'PasswordReset')
  for (const jwtId of [used.jwtId, over.jwtId, otherPurpose.jwtId, 'none'])
    expect(await hub.runJob('users_SendRegistrationEmail', { jwtId })).toMatchObject({ status: 'Completed' })
  expect(
    await hub.runJob('organizations_SendInvitationEmail', { invitationId: newId('org_invite') }),
  ).toMatchObject({ status: 'Completed' })
  expect(server.mails).toEqual([])
  const events = (await auditEvents(hub)).map(({ event }) => event)
  expect(events.filter(event => event.endsWith('EmailSent'))).toEqual([])
})

it('writes mails into the outbox without a mail server, and logs their links', async () => {
  const { log, named } = capturedLog()
  await using hub = await testHub({}, log)
  const { jwtId, email } = await linkOf(hub, 'Activation')
  await hub.runJob('users_SendRegistrationEmail', { jwtId })
  const [mail] = await hub.mailsTo(email)
  expect(mail).toMatchObject({ to: [email], from: 'muster@localhost', subject: 'Activate your account' })
  expect(named('mail is in the outbox')).toMatchObject([
    { to: email, subject: mail!.subject, link: mail!.link },
  ])
  const folder = join(hub.dataDir, 'outbox')
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
  const files = await readdir(folder)
  expect(files).toHaveLength(1)
  expect((await stat(join(folder, files[0]!))).mode & 0o777).toBe(0o600)
  expect(await readFile(join(folder, files[0]!), 'utf8')).toMatch(/^Auto-Submitted: auto-generated\r\n/m)

  const more = await Promise.all([1, 2, 3].map(() => linkOf(hub, 'Activation')))
  await Promise.all(more.map(one => hub.runJob('users_SendRegistrationEmail', { jwtId: one.jwtId })))
  expect(await mailsIn(hub.dataDir)).toHaveLength(4)
})

it('stores no secret in jobs', async () => {
  await using hub = await testHub()
  const { jwtId, email } = await linkOf(hub, 'Activation')
  await hub.runJob('users_SendRegistrationEmail', { jwtId })
  const [mail] = await hub.mailsTo(email)
  // Excludes the recurring jobs that the hub runs some seconds after its start.
  const { rows } = await hub.pool.query(`select j::text as row from pgboss.job j where name like 'users_%'`)
  expect(rows).toHaveLength(1)
  expect(rows[0].row).toContain(jwtId)
  expect(rows[0].row).not.toContain(jwtOf(mail!.link))
})
