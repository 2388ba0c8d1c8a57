import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import {
  countingRequests,
  expectGoodScreen,
  failAction,
  ignoreTimersOf,
  mailedLink,
  openStage,
  type Stage,
  signIn,
} from './people.ts'

const PASSWORD = 'correct horse battery'

let stage: Stage
let page: Page
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(
    await openStage({
      MUSTER_TERMS_URL: 'https://example.com/terms',
      MUSTER_PRIVACY_URL: 'https://example.com/privacy',
    }),
  )
  page = await stage.newPage()
})

beforeEach(async () => {
  if (page.isClosed()) page = await stage.newPage()
})

afterAll(() => resources.disposeAsync())

it('shows the errors of all fields of the sign-up form at once, until they are corrected', async () => {
  await page.goto(`${stage.hub.url}/login`)
  await page.getByRole('link', { name: 'Create an account' }).click()
  await page.waitForURL(/\/signup\/$/)
  await page.getByRole('heading', { level: 1, name: 'Create an account' }).waitFor()
  for (const label of [
    'Full name (required)',
    'Work email (required)',
    'Password (required)',
    'Confirm password (required)',
    'I agree to the Terms of Service and the Privacy Policy. (required)',
    'Send me news about the product. (optional)',
  ])
    await page.getByLabel(label, { exact: true }).waitFor()
  await expectGoodScreen(page, 'signup')

  const button = page.getByRole('button', { name: 'Create account' })
  await page.getByLabel('Full name').fill('   ')
  await page.getByLabel('Work email').fill('mira@halden')
  await page.getByLabel('Password (required)', { exact: true }).fill(' seven ')
  await button.click()
  for (const text of [
    'Please enter your full name.',
    'Please enter a valid email address.',
    'Password must be at least 8 characters long.',
    'Passwords do not match.',
    'Please agree to the Terms of Service and Privacy Policy.',
  ])
    await page.getByRole('alert').getByText(text, { exact: true }).waitFor()
  expect(await button.isDisabled()).toBe(true)
  expect(await page.getByLabel('Full name').getAttribute('aria-invalid')).toBe('true')
  await page.locator('[name=displayName]:focus').waitFor()
  await expectGoodScreen(page, 'signup-errors')

  await page.getByLabel('Full name').fill('Mira Okafor')
  await page.getByLabel('Work email').fill(' mira@halden.example ')
  // The password has eight characters only because its spaces are not trimmed.
  await page.getByLabel('Password (required)', { exact: true }).fill(' seven  ')
  await page.getByLabel('Confirm password (required)').fill(' seven  ')
  await page.getByLabel(/^I agree/).check()
  await page.getByRole('alert').first().waitFor({ state: 'detached' })
  expect(await button.isEnabled()).toBe(true)
})

it('links the terms and the privacy policy if they are set, without losing the typed text', async () => {
  const consent = page.locator('label', { hasText: 'I agree' })
  expect(await consent.getByRole('link', { name: 'Terms of Service' }).getAttribute('href')).toBe(
    'https://example.com/terms',
  )
  expect(await consent.getByRole('link', { name: 'Privacy Policy' }).getAttribute('target')).toBe('_blank')
})

it('shows the message of a failed sign-up and keeps the typed text', async () => {
  const mend = await failAction(page, 'users_Register', 'The database is away.')
  await page.getByRole('button', { name: 'Create account' }).click()
  const box = page.getByRole('alert').filter({ hasText: 'An Error Occurred' })
  await box.waitFor()
  expect(await box.innerText()).toContain('Please try again later. The database is away.')
  await page.locator('[role=alert]:focus').waitFor()
  expect(await page.getByLabel('Full name').inputValue()).toBe('Mira Okafor')
  await expectGoodScreen(page, 'signup-failed')
  await mend()
})

it('C10: shows the hub’s errors at their fields until the fields change', async () => {
  const button = page.getByRole('button', { name: 'Create account' })
  const password = page.getByLabel('Password (required)', { exact: true })
  const alert = page.getByRole('alert')
  await page.getByLabel('Full name').fill('<b>\u0645🛰</b>'.repeat(1000))
  await button.click()
  await alert.getByText('Must have at most 64 characters.', { exact: true }).waitFor()
  expect(await page.getByLabel('Full name').getAttribute('aria-invalid')).toBe('true')
  await page.getByLabel('Full name').fill('Mira Okafor')
  await alert.waitFor({ state: 'detached' })

  await password.fill('password1')
  await page.getByLabel('Confirm password (required)').fill('password1')
  await button.click()
  await alert
    .getByText('This password is one of the most common ones: choose another.', { exact: true })
    .waitFor()
  await page.locator('[name=password]:focus').waitFor()
  expect(await page.getByText('Please try again later.').count()).toBe(0)
  expect(await button.isDisabled()).toBe(true)
  await expectGoodScreen(page, 'signup-common-password')
})

it('leads a person from sign-up through the mailed link to an organization', async () => {
  await page.getByLabel('Password (required)', { exact: true }).fill(PASSWORD)
  await page.getByLabel('Confirm password (required)').fill(PASSWORD)
  const sent = await countingRequests(page, 'users_Register', async () => {
    await page.getByRole('button', { name: 'Create account' }).dblclick()
    await page.getByRole('heading', { level: 1, name: 'Check your mail' }).waitFor()
  })
  expect(sent).toBe(1)
  await page.getByText('mira@halden.example').waitFor()
  await page.locator('h1:focus').waitFor()
  await expectGoodScreen(page, 'signup-created')

  await signUpAgain()
  await page.getByRole('heading', { level: 1, name: 'Registration pending' }).waitFor()
  await expectGoodScreen(page, 'signup-pending')
  const first = await mailedLink(stage, 'mira@halden.example', '/signup/verify')
  await page.getByRole('button', { name: 'Send the mail again' }).click()
  await page.getByText('The message is on its way again.').waitFor()
  const link = await mailedLink(stage, 'mira@halden.example', '/signup/verify', first)
  await expectGoodScreen(page, 'signup-pending-sent')

  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/users_CompleteRegistration', async route => {
    await held
    await route.continue()
  })
  // Measures the time until the redirect with timers of the page itself. A busy machine delays these timers as much as the timer of the
  // redirect.
  await page.addInitScript(
    `new MutationObserver(() => {
      if (!globalThis.moment && document.querySelector('h1')?.textContent === 'Account Activated') {
        globalThis.moment = 'too early'
        setTimeout(() => { globalThis.moment = 'in time' }, 3500)
        setTimeout(() => { globalThis.moment = 'too late' }, 5500)
      }
      if (location.pathname === '/login') globalThis.redirected ??= globalThis.moment
    }).observe(document, { childList: true, subtree: true, characterData: true })`,
  )
  const activations = await countingRequests(page, 'users_CompleteRegistration', async () => {
    await page.goto(link)
    await page.getByRole('heading', { level: 1, name: 'Activating Account' }).waitFor()
    await expectGoodScreen(page, 'activating')
    const activated = page.getByRole('heading', { level: 1, name: 'Account Activated' }).waitFor()
    release()
    await activated
    await page.waitForURL(/\/login$/)
    await expect.poll(() => page.evaluate('globalThis.redirected')).toBe('in time')
  })
  expect(activations).toBe(1)

  // The route ends only when the page of the redirect is there: a script that it still loads would never arrive otherwise.
  await page.getByLabel('Email').fill('mira@halden.example')
  await page.unrouteAll()
  await page.getByLabel(/^Password/).fill(PASSWORD)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.waitForURL(/\/org_\w+\/projects$/)
  await page.getByRole('button', { name: /^Organization .*Mira Okafor/ }).waitFor()
})

it('shows that an account exists already, with a link to sign in', async () => {
  await signUpAgain()
  await page.getByRole('heading', { level: 1, name: 'Account exists already' }).waitFor()
  const panel = page.getByRole('region', { name: 'Account' })
  expect(await panel.getByRole('link', { name: 'Log in' }).getAttribute('href')).toBe('/login')
  expect(await panel.getByRole('link', { name: 'Reset password' }).getAttribute('href')).toBe(
    '/reset-password',
  )
  await expectGoodScreen(page, 'signup-exists')
})

it('shows why an activation failed and does not redirect', async () => {
  await page.goto(await mailedLink(stage, 'mira@halden.example', '/signup/verify'))
  await page.getByRole('heading', { level: 1, name: 'Account Activation Failed' }).waitFor()
  await page.getByText('Your account may have already been activated.').waitFor()
  await expectGoodScreen(page, 'activation-failed')
  const tokens: unknown[] = []
  page.on('request', request => {
    if (request.url().endsWith('users_CompleteRegistration')) tokens.push(request.postDataJSON())
  })
  await page.goto(`${stage.hub.url}/signup/verify`)
  await page.getByText('Your account may have already been activated.').waitFor()
  expect(tokens).toEqual([{ activationToken: '' }])

  const mend = await failAction(page, 'users_CompleteRegistration', 'The database is away.')
  await page.goto(`${stage.hub.url}/signup/verify?jwt=x`)
  await page.getByRole('heading', { level: 1, name: 'Account Activation Failed' }).waitFor()
  await page.getByText('The database is away.').waitFor()
  await mend()
  // Refocusing the window or navigating back does not send the command again.
  await page.evaluate('window.dispatchEvent(new Event("focus")), window.dispatchEvent(new Event("online"))')
  await page.getByRole('link', { name: 'Log in' }).click()
  await page.waitForURL(/\/login$/)
  await page.goBack()
  await page.getByText('The database is away.').waitFor()
  expect(tokens).toEqual([{ activationToken: '' }, { activationToken: 'x' }])
})

it('shows a completed activation with a link to sign in', async () => {
  page = await stage.newPage()
  // Disables the redirect that follows after 4 s, so that the screen can be checked.
  await ignoreTimersOf(page, 4_000)
  await page.route('**/users_CompleteRegistration', route => route.fulfill({ json: { result: 'Completed' } }))
  await page.goto(`${stage.hub.url}/signup/verify?jwt=y`)
  await page.getByRole('heading', { level: 1, name: 'Account Activated' }).waitFor()
  await expectGoodScreen(page, 'activated')
  await page.getByRole('link', { name: 'Log in now' }).click()
  await page.waitForURL(/\/login$/)
})

it('shows the specified placeholder pages', async () => {
  const other = await stage.newPage()
  await other.goto(`${stage.hub.url}/login`)
  await other.getByRole('link', { name: 'Reset password' }).click()
  await other.waitForURL(/\/reset-password$/)
  await other.getByRole('heading', { level: 1, name: 'Under Construction' }).waitFor()
  await other
    .getByText('This feature is currently under construction and will be available soon.', { exact: true })
    .waitFor()
  await expectGoodScreen(other, 'reset-password')
  await other.goto(`${stage.hub.url}/confirm-email`)
  await other.getByRole('heading', { level: 1 }).waitFor()
  await expectGoodScreen(other, 'confirm-email')
  await other.getByRole('link', { name: 'Log in' }).click()
  await other.waitForURL(/\/login$/)
  await expectGoodScreen(other, 'login')
  await other.getByLabel('Email').fill('nobody@muster.local')
  await other.getByLabel(/^Password/).fill('wrong password')
  await other.getByRole('button', { name: 'Log in' }).click()
  await other.getByText('Invalid username or password!').waitFor()
  await expectGoodScreen(other, 'login-refused')
  await other.context().close()
})

it('does not load code of signed-in pages on public pages', async () => {
  const other = await stage.newPage()
  const files: string[] = []
  other.on('request', request => files.push(new URL(request.url()).pathname))
  for (const path of [
    '/login',
    '/signup/',
    '/signup/verify',
    '/confirm-email',
    '/reset-password',
    '/set-password',
  ]) {
    await other.goto(`${stage.hub.url}${path}`)
    await other.getByRole('heading', { level: 1 }).waitFor()
  }
  expect(files).toContainEqual(expect.stringMatching(/^\/assets\/public-/))
  expect(files.filter(file => /^\/assets\/(app|Shell)-/.test(file))).toEqual([])
  await other.context().close()
})

it('sets a password with the mailed link, once', async () => {
  page = await stage.newPage()
  await signIn(page, stage, { email: 'mira@halden.example', password: PASSWORD })
  await page.evaluate(
    `fetch('/api/v1/actions/invoke/users_ResetPassword', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'mira@halden.example' }),
    })`,
  )
  const link = await mailedLink(stage, 'mira@halden.example', '/set-password')
  await page.goto(link)
  await page.getByRole('heading', { level: 1, name: 'Set password' }).waitFor()
  await expectGoodScreen(page, 'set-password')
  const button = page.getByRole('button', { name: 'Set password' })
  await page.getByLabel('New password (required)').fill('short')
  await button.click()
  await page.getByText('Password must be at least 8 characters long.', { exact: true }).waitFor()
  await page.getByText('Passwords do not match.', { exact: true }).waitFor()
  expect(await button.isDisabled()).toBe(true)
  await expectGoodScreen(page, 'set-password-errors')

  await page.getByLabel('New password (required)').fill('  a new password ')
  await page.getByLabel('Confirm password (required)').fill('  a new password ')
  const mend = await failAction(page, 'users_CompletePasswordReset', 'The database is away.')
  await button.click()
  const box = page.getByRole('alert').filter({ hasText: 'An Error Occurred' })
  await box.getByText('The database is away.').waitFor()
  await mend()
  const sent = await countingRequests(page, 'users_CompletePasswordReset', async () => {
    await button.dblclick()
    await page.getByRole('heading', { level: 1, name: 'Password set' }).waitFor()
  })
  expect(sent).toBe(1)
  await expectGoodScreen(page, 'set-password-done')
  await signIn(page, stage, { email: 'mira@halden.example', password: '  a new password ' })

  await page.goto(link)
  await page.getByLabel('New password (required)').fill(PASSWORD)
  await page.getByLabel('Confirm password (required)').fill(PASSWORD)
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByRole('heading', { level: 1, name: 'Link cannot be used' }).waitFor()
  await expectGoodScreen(page, 'set-password-used')
})

it('causes no error in any browser console', () => {
  expect(stage.faults).toEqual([])
})

it('shows that sign-up is closed', async () => {
  await using closed = await openStage({ MUSTER_SIGNUP: 'closed' })
  const other = await closed.newPage()
  await other.goto(`${closed.hub.url}/signup/`)
  await fillSignup(other)
  await other.getByRole('button', { name: 'Create account' }).click()
  const box = other.getByRole('alert').filter({ hasText: 'An Error Occurred' })
  await box.getByText('Sign-up is closed on this instance.').waitFor()
})

async function signUpAgain() {
  await page.goto(`${stage.hub.url}/signup/`)
  await fillSignup(page)
  await page.getByRole('button', { name: 'Create account' }).click()
}

async function fillSignup(page: Page) {
  await page.getByLabel('Full name').fill('Mira Okafor')
  await page.getByLabel('Work email').fill('mira@halden.example')
  await page.getByLabel('Password (required)', { exact: true }).fill(PASSWORD)
  await page.getByLabel('Confirm password (required)').fill(PASSWORD)
  await page.getByLabel(/^I agree/).check()
}

it('P14: loads at most 120 KB of compressed code for the sign-in page, and 190 KB for a device list', async () => {
  const page = await stage.newPage()
  await page.goto(`${stage.hub.url}/login`)
  await page.getByLabel('Email').waitFor()
  expect(await codeBytes(page)).toBeLessThanOrEqual(120_000)
  const addDevices = (first: number, last: number) =>
    changeDatabase(
      stage.hub,
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select 'd_' || left(translate(md5(i::text), '0', 'z'), 22), project_id, 'd_pk_' || i, convert_to(i::text, 'UTF8')
         from project, generate_series(${first}, ${last}) i`,
    )
  await addDevices(1, 1)
  await signIn(page, stage, stage.admin)
  // The measured page starts without the code of the sign-in page.
  await page.reload()
  await page.getByRole('link', { name: 'First project' }).click()
  await page.locator('tr[data-index]').first().waitFor()
  expect(await codeBytes(page)).toBeLessThanOrEqual(190_000)
  // Above 200 devices, the list begins with the connected devices of the last 24 h.
  await addDevices(2, 201)
  await page.reload()
  await page.locator('tr[data-index]').first().waitFor()
  await page.getByText('Connected, last 24 h').waitFor()
  expect(await codeBytes(page)).toBeLessThanOrEqual(190_000)
  await page.context().close()
})

/** Returns the size, in bytes as sent, of all scripts and styles that a page has loaded. Cached files count too. */
async function codeBytes(page: Page): Promise<number> {
  const files = await page.evaluate<
    { name: string; bytes: number }[]
  >(`performance.getEntriesByType('resource')
    .filter(({ name }) => /\\.(js|css)$/.test(name))
    .map(({ name, encodedBodySize }) => ({ name, bytes: encodedBodySize }))`)
  expect(files.length).toBeGreaterThan(2)
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}
