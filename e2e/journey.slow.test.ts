import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { agentCommand, startAgent } from './agent-child.ts'
import { launchBrowser } from './browser.ts'
import { adminOf, type HubChild, newFolder, startedHub } from './hub-child.ts'
import { ignoreTimersOf, violations } from './people.ts'

let hub: HubChild & { email: string; password: string }
let page: Page
let folder: string
const resources = new AsyncDisposableStack()
const faults: string[] = []

beforeAll(async () => {
  folder = resources.use(await newFolder()).path
  const dataDir = join(folder, 'data')
  const child = resources.use(await startedHub({ dataDir }))
  const { email, password } = await adminOf(dataDir)
  hub = Object.assign(child, { email, password })
  const browser = await launchBrowser()
  resources.defer(() => browser.close())
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 } })
  page = await context.newPage()
  // Undo and leaving the list work without the timer of a deletion, which a busy machine may exceed between two steps.
  await ignoreTimersOf(page, 10_000)
  page.on('pageerror', error => faults.push(error.message))
  page.on('console', message => message.type() === 'error' && faults.push(message.text()))
})

afterAll(() => resources.disposeAsync())

it('leads a person from sign-in to a device that connects, is renamed and is deleted', async () => {
  await page.goto(`${hub.url}/org_x/projects?q=a#b`)
  await page.waitForURL(/\/login/)
  expect(new URL(page.url()).searchParams.get('redirect')).toBe('/org_x/projects?q=a#b')
  await page.goto(`${hub.url}/login`)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Please enter your email address.').waitFor()
  await page.getByText('Please enter your password.').waitFor()
  await page.getByLabel('Email').fill(hub.email)
  await page.getByLabel(/^Password/).fill('wrong password')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Invalid username or password!').waitFor()
  faults.length = 0 // The browser writes the refused sign-in to the console.
  await page.getByLabel(/^Password/).fill(hub.password)
  await page.getByRole('button', { name: 'Log in' }).click()

  await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
  await page.getByRole('button', { name: 'Create Project' }).click()
  const projectDialog = page.getByRole('dialog')
  await projectDialog.getByLabel('Name').fill('Harbor cranes')
  await projectDialog.getByRole('button', { name: 'Create Project' }).click()
  await page.waitForURL(/\/org_\w+\/projects\/p_\w+\/devices/)
  const devicesUrl = page.url()

  await page.getByRole('link', { name: 'Tokens' }).click()
  await page.getByRole('button', { name: 'New Token' }).first().click()
  const tokenDialog = page.getByRole('dialog')
  await tokenDialog.getByRole('button', { name: 'Create Token' }).click()
  await tokenDialog.getByText('Name must not be empty.').waitFor()
  await tokenDialog.getByLabel('Name').fill('Cranes')
  await tokenDialog.getByRole('button', { name: 'Create Token' }).click()
  const secret = tokenDialog.locator('[data-secret] code')
  await secret.waitFor()
  const token = await secret.innerText()
  expect(token).toMatch(/^deployment_[1-9A-HJ-NP-Za-km-z]{66}$/)
  await tokenDialog.getByRole('button', { name: 'Done' }).click()
  expect(await page.content()).not.toContain(token)

  // Without auto-accept, a person approves each device. The switch is busy until the hub has saved the change.
  const autoAccept = page.getByRole('switch')
  expect(await autoAccept.getAttribute('aria-checked')).toBe('true')
  await autoAccept.click()
  await page.locator('[role=switch][aria-checked=false]:not([aria-busy])').waitFor()

  await page.goto(devicesUrl)
  await page.getByText('Connect your first device').first().waitFor()
  const config = await agentConfig(token)
  await using agent = startAgent(['run', '--config', config])
  const row = page.locator('tbody tr').first()
  await row.getByText('unnamed').waitFor()
  expect(await row.innerText()).toContain('Disconnected')

  await row.getByRole('link', { name: 'View' }).click()
  await page.getByRole('heading', { name: /^This device waits for approval/ }).waitFor()
  await page.getByText('certificate is pending', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Accept', exact: true }).click()
  // Leaving the page sends the decision immediately. A waiting device asks again after up to 60 s.
  await page
    .getByRole('link', { name: /^Devices/ })
    .last()
    .click()
  await row.getByText('Connected', { exact: true }).waitFor({ timeout: 90_000 })
  await row.getByRole('link', { name: 'View' }).click()
  const head = page.locator('.EntityHead-head')
  await head.getByText('Connected', { exact: true }).waitFor()
  await page.getByRole('heading', { name: 'System Info' }).waitFor()
  await page.locator('#props').getByText('dev.nexigon.system.info').waitFor()

  expect((await agentCommand(['device', 'id', '--config', config])).trim()).toMatch(
    /d_[1-9A-HJ-NP-Za-km-z]{22}/,
  )
  await agentCommand(['device', 'properties', 'set', 'crane.limits', '{"loadKg":42500}', '--config', config])
  await page.getByText('crane.limits').waitFor()
  await agentCommand([
    'events',
    'emit',
    '--severity',
    'warning',
    '--category',
    'crane',
    '"Wind limit reached"',
    '--config',
    config,
  ])
  await page.getByText('Wind limit reached').waitFor()
  expect(await page.getByText('Warning', { exact: true }).first().isVisible()).toBe(true)

  await page.getByPlaceholder('New name').fill('crane-gw-01')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { level: 1, name: 'crane-gw-01' }).waitFor()
  await expect.poll(() => page.getByPlaceholder('New name').inputValue()).toBe('')
  expect(await violations(page)).toEqual([])

  await agent[Symbol.asyncDispose]()
  await head.getByText('Disconnected', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Delete Device' }).click()
  await page.waitForURL(url => url.pathname.endsWith('/devices'))
  await page.getByText(/^Deleting in \d+ s\.$/).waitFor()
  expect(await violations(page)).toEqual([])
  await page.getByRole('button', { name: 'Undo deleting crane-gw-01' }).click()
  const named = page.locator('main td').getByRole('link', { name: 'crane-gw-01', exact: true })
  await named.click()
  await page.getByRole('heading', { level: 1, name: 'crane-gw-01' }).waitFor()
  const sent = page.waitForResponse('**/invoke/devices_Delete')
  await page.getByRole('button', { name: 'Delete Device' }).click()
  await page.getByText(/^Deleting in \d+ s\.$/).waitFor()
  // Leaving the list sends the deletion immediately.
  await page.getByRole('link', { name: 'Tokens' }).last().click()
  expect((await sent).status()).toBe(200)
  await page
    .getByRole('link', { name: /^Devices/ })
    .last()
    .click()
  await named.waitFor({ state: 'detached' })

  await page.getByRole('link', { name: 'Settings' }).last().click()
  const asked: string[] = []
  page.once('dialog', dialog => {
    asked.push(dialog.message())
    void dialog.dismiss()
  })
  await page.getByRole('button', { name: 'Delete Project' }).click()
  await page.getByRole('heading', { name: 'Danger Zone' }).waitFor()
  page.once('dialog', dialog => {
    asked.push(dialog.message())
    void dialog.accept()
  })
  await page.getByRole('button', { name: 'Delete Project' }).click()
  await page.waitForURL(/\/projects$/)
  expect(asked).toEqual([
    'Are you sure you want to delete this project?',
    'Are you sure you want to delete this project?',
  ])
  await page.getByText('Harbor cranes').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: /Account menu/ }).click()
  await page.getByRole('menuitem', { name: 'Log Out' }).click()
  await page.waitForURL(/\/login$/)
  expect(await violations(page)).toEqual([])
  expect(faults).toEqual([])
})

it('shows the specified pages for unknown paths and missing data', async () => {
  await page.goto(`${hub.url}/no/such/page`)
  await page.getByRole('heading', { name: 'Page not Found' }).waitFor()
  await page
    .getByText(
      'The page you are looking for does not exist. Please check the URL or go back to the home page.',
    )
    .waitFor()
  expect(await violations(page)).toEqual([])
})

async function agentConfig(token: string): Promise<string> {
  const script = join(folder, 'fingerprint.sh')
  await writeFile(script, '#!/bin/sh\necho journey-device\n', { mode: 0o755 })
  const config = join(folder, 'agent.toml')
  const keys = {
    'hub-url': hub.url,
    token,
    'fingerprint-script': 'fingerprint.sh',
    'ssl-cert': 'cert.pem',
    'ssl-key': 'key.pem',
    'data-path': 'data',
  }
  const lines = Object.entries(keys).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
  await writeFile(config, [...lines, 'dangerous-allow-plaintext = true', ''].join('\n'))
  return config
}
