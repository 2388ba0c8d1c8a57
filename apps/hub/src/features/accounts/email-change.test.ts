import { auditEvents, failed, mailedJwt, signIn, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ANONYMOUS } from '../../platform/pipeline/caller.ts'

let hub: TestHub
let admin: TestUser
let count = 0

beforeAll(async () => {
  hub = await testHub()
  admin = await hub.user({ isAdmin: true })
})
afterAll(() => hub[Symbol.asyncDispose]())

const newAddress = () => `moved-${++count}@example.com`

function initiate(person: TestUser, newEmail: string, currentPassword = person.password) {
  return person.invoke('users_InitiateEmailChange', { userId: person.userId, newEmail, currentPassword })
}

const complete = (token: string) => hub.pipeline.run(ANONYMOUS, 'users_CompleteEmailChange', { token })

async function emailOf({ userId }: TestUser): Promise<string> {
  return (await admin.invoke('users_GetDetails', { userId })).email
}

/** Kinds of the mails that were queued for a person, oldest first. */
async function queuedMails({ userId }: TestUser): Promise<string[]> {
  const events = await auditEvents(hub)
  return events
    .filter(({ event, data }) => /Sent$/.test(event) && (data as { userId?: string }).userId === userId)
    .map(({ event, data }) => `${event} ${(data as { email?: string }).email}`)
    .sort()
}

it('I8: changes the address with the link that is mailed to the new one, and mails the old one twice', async () => {
  const ada = await hub.user()
  const newEmail = newAddress()
  expect(await initiate(ada, newEmail)).toEqual({ result: 'Pending' })
  expect(await emailOf(ada)).toBe(ada.email)
  await expect
    .poll(() => queuedMails(ada))
    .toEqual([`users_EmailChangeEmailSent ${newEmail}`, `users_EmailChangeNoticeSent ${ada.email}`])
  const token = await mailedJwt(hub, 'EmailChange', ada.email)
  expect(await complete(token)).toEqual({ result: 'Completed' })
  expect(await emailOf(ada)).toBe(newEmail)
  expect((await signIn(hub, newEmail, ada.password)).status).toBe(200)
  expect((await signIn(hub, ada.email, ada.password)).status).not.toBe(200)
  await expect.poll(() => queuedMails(ada)).toContain(`users_EmailChangedEmailSent ${ada.email}`)
  expect(await complete(token)).toEqual({ result: 'InvalidToken' })
  // The session that asked stays.
  expect(await ada.invoke('users_GetDetails', { userId: ada.userId })).toMatchObject({ email: newEmail })
})

it('I8: refuses a wrong password, the same address, the address of another account, and an unstable one', async () => {
  const ada = await hub.user()
  const grace = await hub.user()
  expect(await initiate(ada, newAddress(), 'not the password')).toEqual({ result: 'InvalidCurrentPassword' })
  expect(await initiate(ada, ada.email.toUpperCase())).toEqual({ result: 'SameEmail' })
  expect(await initiate(ada, grace.email)).toEqual({ result: 'EmailAlreadyExists' })
  expect(await failed(initiate(ada, 'ada@inİtech.example'))).toMatchObject({
    kind: 'Invalid',
    issues: [{ path: 'newEmail' }],
  })
})

it('I8: voids links by a newer link, a new password and a change by an administrator', async () => {
  const ada = await hub.user()
  await initiate(ada, newAddress())
  const first = await mailedJwt(hub, 'EmailChange', ada.email)
  await initiate(ada, newAddress())
  expect(await complete(first)).toEqual({ result: 'InvalidToken' })
  const second = await mailedJwt(hub, 'EmailChange', ada.email)
  await ada.invoke('users_SetPassword', { userId: ada.userId, password: 'a staple of horses' })
  expect(await complete(second)).toEqual({ result: 'InvalidToken' })

  const grace = await hub.user()
  await initiate(grace, newAddress())
  const third = await mailedJwt(hub, 'EmailChange', grace.email)
  const email = newAddress()
  expect(await admin.invoke('users_SetEmail', { userId: grace.userId, email })).toEqual({ result: 'Updated' })
  expect(await emailOf(grace)).toBe(email)
  expect(await complete(third)).toEqual({ result: 'InvalidToken' })
  expect(await admin.invoke('users_SetEmail', { userId: grace.userId, email: ada.email })).toEqual({
    result: 'EmailAlreadyExists',
  })
})

it('I8: gives an address to one of two accounts whose links are opened at once', async () => {
  const [ada, grace] = [await hub.user(), await hub.user()]
  const newEmail = newAddress()
  await initiate(ada, newEmail)
  await initiate(grace, newEmail)
  const tokens = await Promise.all([ada, grace].map(({ email }) => mailedJwt(hub, 'EmailChange', email)))
  const results = await Promise.all(tokens.map(complete))
  expect(results.map(({ result }) => result).sort()).toEqual(['Completed', 'EmailAlreadyExists'])
})

it('I8: mails the activation link of an account that is not activated to the address that an administrator sets', async () => {
  const email = newAddress()
  await hub.anonymous('users_Register', { email, password: 'a staple of horses', consentedToTerms: true })
  const old = await mailedJwt(hub, 'Activation', email)
  const { users } = await admin.invoke('users_Query', { filter: { text: email } })
  const moved = newAddress()
  await admin.invoke('users_SetEmail', { userId: users[0]!.userId, email: moved })
  expect(await hub.anonymous('users_CompleteRegistration', { activationToken: old })).toEqual({
    result: 'Failed',
  })
  const activationToken = await mailedJwt(hub, 'Activation', moved)
  expect(await hub.anonymous('users_CompleteRegistration', { activationToken })).toEqual({
    result: 'Completed',
  })
})
