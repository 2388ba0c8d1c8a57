import { createClient } from '@muster/actions/client'
import { until } from '@muster/testkit/until'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import {
  expectGoodScreen,
  mailedLink,
  openStage,
  type Person,
  type Stage,
  signIn,
  signOut,
  startSession,
} from './people.ts'

let stage: Stage
let page: Page
let admin: Person
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  admin = stage.admin
  page = await stage.signedInPage()
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

it('leads from the account menu to the settings, which start with the profile', async () => {
  await page.getByRole('button', { name: /Account menu/ }).click()
  await page.getByRole('menuitem', { name: 'Settings' }).click()
  await page.waitForURL(/\/settings\/profile$/)
  await page.getByRole('heading', { level: 1, name: 'Profile' }).waitFor()
  const nav = page.getByRole('navigation', { name: 'Settings' })
  expect(await nav.getByRole('link').allInnerTexts()).toEqual(['Profile', 'Security', 'Sessions'])
  // On the settings pages the top bar still has the links of the organization.
  await page
    .getByRole('navigation', { name: 'Organization' })
    .getByRole('link', { name: 'Projects' })
    .waitFor()
})

it('changes the display name, and the top bar shows it at once', async () => {
  const save = page.getByRole('button', { name: 'Save' })
  const field = page.getByLabel('Display name (required)')
  await field.fill('   ')
  await save.click()
  await page.getByRole('alert').getByText('Display name must not be empty.', { exact: true }).waitFor()
  expect(await save.isDisabled()).toBe(true)
  await expectGoodScreen(page, 'profile-error')
  await field.fill('x'.repeat(129))
  await save.click()
  await page
    .getByRole('alert')
    .getByText(/must have at most 128 characters/)
    .waitFor()
  await field.fill('  Mira <b>Økafør</b> 🚜 ')
  await save.click()
  await page.getByText('Name saved.', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Account menu, Mira <b>Økafør</b> 🚜' }).waitFor()
  expect(await field.inputValue()).toBe('Mira <b>Økafør</b> 🚜')
  await field.fill('Mira Okafor')
  await save.click()
  await page.getByRole('button', { name: 'Account menu, Mira Okafor' }).waitFor()
  await expectGoodScreen(page, 'profile')
})

it('changes the password, and then only the new one is accepted', async () => {
  await page.getByRole('link', { name: 'Security' }).click()
  await page.getByRole('heading', { level: 1, name: 'Security' }).waitFor()
  const password = page.getByLabel('New password (required)', { exact: true })
  const confirmation = page.getByLabel('Confirm password (required)', { exact: true })
  const change = page.getByRole('button', { name: 'Change Password' })
  await password.fill('1234567')
  await confirmation.fill('12345678')
  await change.click()
  await page
    .getByRole('alert')
    .getByText('Password must be at least 8 characters long.', { exact: true })
    .waitFor()
  await page.getByRole('alert').getByText('Passwords do not match.', { exact: true }).waitFor()
  expect(await change.isDisabled()).toBe(true)
  await page.locator('[name=password]:focus').waitFor()
  await expectGoodScreen(page, 'security-errors')
  await password.fill(' pass word ')
  await confirmation.fill(' pass word ')
  await change.click()
  await page.getByText('Password changed.', { exact: false }).waitFor()
  expect([await password.inputValue(), await confirmation.inputValue()]).toEqual(['', ''])

  await signOut(page)
  await page.getByLabel('Email').fill(admin.email)
  await page.getByLabel(/^Password/).fill(admin.password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Invalid username or password!').waitFor()
  admin = { ...admin, password: ' pass word ' }
  await signIn(page, stage, admin)
})

it('creates a token and shows it once; the token acts as its person until it is deleted', async () => {
  await page.goto(`${stage.hub.url}/settings/security`)
  await page.getByText('No tokens yet.').waitFor()
  await expectGoodScreen(page, 'security')
  const messages: string[] = []
  page.on('console', message => messages.push(message.text()))
  await page.getByRole('button', { name: 'New Token' }).click()
  const dialog = page.getByRole('dialog')
  const create = dialog.getByRole('button', { name: 'Create Token' })
  await create.click()
  await dialog.getByRole('alert').getByText('Name must not be empty.', { exact: true }).waitFor()
  expect(await create.isDisabled()).toBe(true)
  await expectGoodScreen(page, 'security-new-token')
  await dialog.getByLabel('Name (required)').fill('Nightly script')
  await create.click()
  await dialog.getByText('Copy this token now. It cannot be viewed later.').waitFor()
  await expectGoodScreen(page, 'security-secret')
  const secret = await dialog.locator('[data-secret] code').innerText()
  expect(secret).toMatch(/^u_sk_[1-9A-HJ-NP-Za-km-z]{66}$/)
  // Closing the dialog without copying the token shows a warning first.
  await page.keyboard.press('Escape')
  await dialog.getByText('The token has not been copied. Close again to leave it.').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'detached' })

  const row = page.getByRole('row', { name: /Nightly script/ })
  await row.getByText(/^u_pk_/).waitFor()
  expect(await page.content()).not.toContain(secret)
  expect(page.url()).not.toContain(secret)
  expect(await page.evaluate('JSON.stringify([{...localStorage}, {...sessionStorage}])')).not.toContain(
    secret,
  )
  expect(messages.join()).not.toContain(secret)
  expect(stage.hub.stderr() + stage.hub.stdout()).not.toContain(secret)

  const invoke = createClient({ baseUrl: stage.hub.url, headers: { authorization: `Bearer ${secret}` } })
  expect((await invoke('actor_GetActor', {})).actor).toMatchObject({ actor: 'UserToken' })
  expect((await invoke('users_Query', {})).users).toHaveLength(1)
  await expectGoodScreen(page, 'security-token')

  const sent: string[] = []
  page.on('request', request => sent.push(request.url()))
  const asked: string[] = []
  page.once('dialog', question => {
    asked.push(question.message())
    void question.dismiss()
  })
  await row.getByRole('button', { name: 'Delete token Nightly script' }).click()
  await expect.poll(() => asked).toEqual(['Are you sure you want to delete this token?'])
  page.once('dialog', question => void question.accept())
  await row.getByRole('button', { name: 'Delete token Nightly script' }).click()
  await page.getByText('Token Nightly script deleted.').waitFor()
  await page.getByText('No tokens yet.').waitFor()
  // Only the accepted confirmation sent a request. The declined confirmation showed no error.
  expect(sent.filter(url => url.endsWith('users_DeleteToken'))).toHaveLength(1)
  expect(await page.getByRole('alert').count()).toBe(0)
  await expect(invoke('users_Query', {})).rejects.toMatchObject({ status: 401 })
})

it('asks for the current password when the sign-in is no longer recent', async () => {
  await changeDatabase(stage.hub, "update session set created_at = created_at - interval '20 minutes'")
  await page.getByRole('button', { name: 'New Token' }).click()
  const dialog = page.getByRole('dialog')
  const create = dialog.getByRole('button', { name: 'Create Token' })
  const field = dialog.getByLabel('Current password (required)', { exact: true })
  await dialog.getByLabel('Name (required)').fill('Later')
  expect(await field.count()).toBe(0)
  await create.click()
  await field.waitFor()
  await dialog
    .getByRole('alert')
    .getByText(/sign-in is too old/)
    .waitFor()
  await page.locator('[name=currentPassword]:focus').waitFor()
  await expectGoodScreen(page, 'security-current-password')
  await create.click()
  await dialog.getByRole('alert').getByText('Please enter your password.', { exact: true }).waitFor()
  await field.fill('not this one')
  await create.click()
  await dialog.getByRole('alert').getByText('The current password is wrong.', { exact: true }).waitFor()
  await field.fill(admin.password)
  await create.click()
  await dialog.locator('[data-secret] code').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('row', { name: /Later/ }).waitFor()
})

it('S8: shows time and address of the last use of a token, and its expiry', async () => {
  await page.getByRole('button', { name: 'New Token' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name (required)').fill('For a month')
  await dialog.getByLabel('Expires (optional)').selectOption('In 30 days')
  await dialog.getByRole('button', { name: 'Create Token' }).click()
  const password = dialog.getByLabel('Current password (required)', { exact: true })
  await password.fill(admin.password)
  await dialog.getByRole('button', { name: 'Create Token' }).click()
  const secret = await dialog.locator('[data-secret] code').innerText()
  await dialog.getByRole('button', { name: 'Done' }).click()
  const row = page.getByRole('row', { name: /For a month/ })
  await row.getByText(/^in 4 weeks$/).waitFor()
  const invoke = createClient({ baseUrl: stage.hub.url, headers: { authorization: `Bearer ${secret}` } })
  await invoke('actor_GetActor', {})
  // The page refetches the list of tokens at intervals. A reload refetches it immediately.
  await expect
    .poll(async () => {
      await page.reload()
      await row.waitFor()
      return row.getByText('127.0.0.1').count()
    })
    .toBe(1)
  await changeDatabase(
    stage.hub,
    "update user_token set expires_at = now() - interval '1 hour' where name = 'Later'",
  )
  await page.reload()
  await page.getByRole('row', { name: /Later/ }).getByText('Expired').waitFor()
  await expectGoodScreen(page, 'security-tokens')
})

it('S8: deletes all tokens when the password changes and the box is ticked', async () => {
  await page.getByLabel('New password (required)', { exact: true }).fill('a fourth password')
  await page.getByLabel('Confirm password (required)', { exact: true }).fill('a fourth password')
  expect(await page.getByLabel('Delete all tokens of this account (optional)').isChecked()).toBe(true)
  await page.getByRole('button', { name: 'Change Password' }).click()
  await page.getByLabel('Current password (required)', { exact: true }).fill(admin.password)
  await page.getByRole('button', { name: 'Change Password' }).click()
  await page.getByText('Password changed. Every other session and every token has ended.').waitFor()
  await page.getByText('No tokens yet.').waitFor()
  admin = { ...admin, password: 'a fourth password' }
})

it('I8: changes the address with the link that is mailed to the new one', async () => {
  await page.goto(`${stage.hub.url}/settings/profile`)
  const section = page.getByRole('region', { name: 'Change Email' })
  const send = section.getByRole('button', { name: 'Mail a Link' })
  await send.click()
  await section.getByRole('alert').getByText('Please enter the new address.').waitFor()
  await section.getByLabel('New email (required)').fill(admin.email)
  await section.getByLabel(/^Current password/).fill('not the password')
  await send.click()
  await section.getByText('This is not your current password.').waitFor()
  await section.getByLabel(/^Current password/).fill(admin.password)
  await send.click()
  await section.getByText('This is your address already.').waitFor()
  await expectGoodScreen(page, 'profile-same-email')
  await section.getByLabel('New email (required)').fill('okafor@muster.local')
  await section.getByLabel(/^Current password/).fill(admin.password)
  await send.click()
  await section.getByText('okafor@muster.local').waitFor()
  await expectGoodScreen(page, 'profile-email-mailed')
  const mailed = await mailedLink(stage, 'okafor@muster.local', '/confirm-email')
  // The session belongs to this host name, which differs from that of the mail.
  const link = mailed.replace(new URL(mailed).origin, stage.hub.url)
  await page.goto(link)
  await page.getByRole('heading', { name: 'Address Changed' }).waitFor()
  await expectGoodScreen(page, 'confirm-email-changed')
  await page.goto(link)
  await page.getByRole('heading', { name: 'Address Not Changed' }).waitFor()
  await page.getByText('The link has expired, was used already').waitFor()
  await page.getByRole('link', { name: 'Open your profile' }).click()
  await page.getByRole('region', { name: 'Account' }).getByText('okafor@muster.local').waitFor()
  await changeDatabase(
    stage.hub,
    `update "user" set email = '${admin.email}', canonical_email = '${admin.email}'`,
  )
})

it('sends nothing with a session that has just ended, and shows its pages on if the hub does not end it', async () => {
  const own = await stage.newPage()
  await startSession(own, stage)
  const refusal = {
    status: 429,
    json: { kind: 'RateLimited', message: 'Too many requests: try again later.' },
  }
  await own.route('**/private/logout', route => route.fulfill(refusal), { times: 1 })
  await own.getByRole('button', { name: /Account menu/ }).click()
  await own.getByRole('menuitem', { name: 'Log Out' }).click()
  await own.getByText('Could not log out').waitFor()
  const answered = own.waitForResponse('**/invoke/organizations_QueryProjects')
  await own.getByRole('button', { name: 'Refresh' }).click()
  expect((await answered).status()).toBe(200)

  const refused: string[] = []
  own.on('response', answer => answer.status() === 401 && refused.push(answer.url()))
  // The requests of the page reach the hub when the session has ended.
  const late: Promise<void>[] = []
  const ended = own.waitForResponse('**/private/logout')
  await own.route('**/invoke/organizations_QueryProjects', route => {
    late.push(ended.then(() => route.continue()).catch(() => {}))
  })
  await own.getByRole('button', { name: 'Refresh' }).click()
  await until('the page sends a request', () => late.length > 0)
  await signOut(own)
  await Promise.all(late)
  await own.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  expect(refused).toEqual([])
  await own.context().close()
})

it('S39: clears the page at a sign-out that does not reach the hub, and ends the session when it answers again', async () => {
  const own = await stage.newPage()
  await startSession(own, stage)
  const other = await own.context().newPage()
  await other.goto(stage.hub.url)
  await other.getByRole('button', { name: /Account menu/ }).waitFor()
  const context = own.context()
  await context.route('**/private/logout', route => route.abort())
  await own.getByRole('button', { name: /Account menu/ }).click()
  await own.getByRole('menuitem', { name: 'Log Out' }).click()
  for (const shown of [own, other]) await shown.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  // The console treats the person as signed out, although the browser still has the cookie of the session.
  await own.goto(stage.hub.url)
  await own.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  const [{ value } = { value: '' }] = (await context.cookies()).filter(({ name }) => name === 'muster')
  expect(value).not.toBe('')
  await context.unroute('**/private/logout')
  const ended = own.waitForResponse('**/private/logout')
  await own.goto(stage.hub.url)
  expect((await ended).status()).toBe(200)
  await own.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  expect((await context.cookies()).filter(({ name }) => name === 'muster')).toEqual([])
  await context.close()
})

it('ends another session at once, and ends its own by signing out', async () => {
  const elsewhere = await stage.newPage()
  await signIn(elsewhere, stage, admin)
  await page.getByRole('link', { name: 'Sessions' }).click()
  await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor()
  const rows = page.getByRole('row').filter({ hasText: 'u_session_pk_' })
  const other = rows.filter({ hasNotText: 'This session' })
  await expect.poll(() => other.count()).toBe(1)
  expect(await rows.count()).toBe(2)
  await other.getByText('Chrome on Linux').waitFor()
  const agent = other.locator('[title]')
  expect(await agent.getAttribute('title')).toBe(await elsewhere.evaluate('navigator.userAgent'))
  const { width, limit } = await agent.evaluate(element => {
    const probe = element.ownerDocument.createElement('span')
    probe.style.cssText = 'position: absolute; width: 40ch'
    element.append(probe)
    const limit = probe.getBoundingClientRect().width
    probe.remove()
    return { width: element.getBoundingClientRect().width, limit }
  })
  expect(width).toBeLessThanOrEqual(limit + 1)
  await expectGoodScreen(page, 'sessions')

  await other.getByRole('button', { name: /End session/ }).click()
  await page.getByText('Session ended.').waitFor()
  await expect.poll(() => rows.count()).toBe(1)
  const status = await elsewhere.evaluate(
    "fetch('/api/v1/actions/invoke/users_Query', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }).then(answer => answer.status)",
  )
  expect(status).toBe(401)
  await elsewhere.getByRole('button', { name: 'Refresh' }).click()
  const alert = elsewhere.getByRole('alert').filter({ hasText: 'Could not load projects.' })
  await alert.getByText('Your session has ended.').waitFor()
  await alert.getByRole('link', { name: 'Log in' }).waitFor()
  await elsewhere.reload()
  await elsewhere.waitForURL(/\/login/)

  await rows.getByRole('button', { name: /End session/ }).click()
  await page.waitForURL(/\/login$/)
  await page.goto(`${stage.hub.url}/settings`)
  await page.waitForURL(/\/login\?redirect=%2Fsettings/)
  expect(stage.faults).toEqual([])
})
