import { join } from 'node:path'
import { VERSION } from '@muster/actions/version'
import { ConnectionRefused, connectDevice } from '@muster/testkit/device'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startAgent } from './agent-child.ts'
import { changeDatabase, newFolder } from './hub-child.ts'
import {
  expectGoodScreen,
  failAction,
  invoke,
  openStage,
  organizationOf,
  polled,
  type Stage,
} from './people.ts'

/** Time between two requests of a page that waits for devices. */
const POLL_MS = 5_000

let stage: Stage
let page: Page
let folder: string
/** The URL of a project without devices. */
let project: string
let projectId: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  folder = resources.use(await newFolder()).path
  page = await stage.signedInPage({ prepare: opened => opened.clock.install() })
  const organizationId = await organizationOf(page)
  const created = await invoke(page, 'projects_Create', { organizationId, name: 'Harbor cranes' })
  projectId = created.projectId
  project = `${stage.hub.url}/${organizationId}/projects/${projectId}`
})

beforeEach(async () => {
  page = await stage.signedInPage({ prepare: opened => opened.clock.install() })
})

afterAll(() => resources.disposeAsync())

it('guides the first device from the token to the greeting, without a token in any command', async () => {
  await page.goto(`${project}/devices`)
  const guide = page.getByRole('region', { name: 'Connect your first device' })
  const mend = await failAction(page, 'projects_CreateDeploymentToken')
  expect(await guide.getByRole('checkbox', { name: 'Auto-accept' }).isChecked()).toBe(true)
  expect(await guide.getByRole('radio', { name: 'Never' }).isChecked()).toBe(true)
  await guide.getByText('Your device appears here').waitFor()
  await expectGoodScreen(page, 'connect-guide')
  await guide.getByRole('button', { name: 'Create Token' }).click()
  await guide.getByText('The token was not created.').waitFor()
  await mend()
  await guide.getByRole('button', { name: 'Create Token' }).click()
  const token = await guide.locator('[data-secret] code').innerText()
  await expect.poll(focused).toMatch(/^Copy/)
  await guide.getByText('Waiting for the device to connect…').waitFor()
  await expectGoodScreen(page, 'connect-guide-waiting')

  // The token stays when the tab changes. Each tab has its own command, and no command contains the token.
  const { hostname, port } = new URL(stage.hub.url)
  const hub = `http://localhost:${port}`
  expect(hostname).toMatch(/localhost|127/)
  const tab = (name: string) => guide.getByRole('tab', { name })
  await tab('This machine').focus()
  for (const [name, command] of [
    ['A Linux device', `curl -fsS ${hub}/install.sh -o install-muster.sh && sudo sh install-muster.sh`],
    ['Public Nexigon agent', `hub-url = "${hub}"\ntoken = "paste the token here"`],
    ['Simulated', `node muster-agent simulate --hub ${hub} --count 20`],
    ['This machine', `node muster-agent run --hub ${hub}`],
  ] as const) {
    await page.keyboard.press('ArrowRight')
    expect(await focused()).toContain(name)
    expect(await tab(name).getAttribute('aria-selected')).toBe('true')
    const panel = guide.getByRole('tabpanel', { name })
    expect(await panel.innerText()).toContain(command)
    expect(await guide.getByText(token).count()).toBe(1)
    await expectGoodScreen(page, `connect-guide-${name.toLowerCase().replaceAll(' ', '-')}`)
  }
  await tab('Simulated').click()
  await guide.getByLabel('Number of devices').fill('10001')
  await guide.getByText('Enter a whole number from 1 to 10,000.').waitFor()
  await guide.getByLabel('Number of devices').fill('3')
  await guide.getByText('--count 3', { exact: false }).first().waitFor()

  resources.use(
    startAgent(['run', '--hub', stage.hub.url, '--token', token, '--data', join(folder, 'first')]),
  )
  await page.getByRole('heading', { name: / is here$/ }).waitFor()
  await page.getByText('accepted, by auto-accept').waitFor()
  await page.getByText('System info received').waitFor()
  await page.getByRole('definition').getByText(VERSION, { exact: true }).waitFor()
  await page.locator('.Page-count').getByText('1', { exact: true }).waitFor()
  await expectGoodScreen(page, 'connect-guide-greeting')
  await page.getByLabel('Give it a name').fill('gw-harbor-01')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { name: 'gw-harbor-01 is here' }).waitFor()

  // The same token works for the next device.
  await page.getByRole('button', { name: 'Connect the next one' }).click()
  await page.getByText('Waiting for the device to connect…').waitFor()
  await connect(token)
  await page.getByRole('heading', { name: / is here$/ }).waitFor()
  await page.getByText('1 more device came with the same token.').waitFor()
  await page.getByRole('button', { name: 'Show devices' }).click()
  await page.getByRole('row').getByRole('link', { name: 'View' }).first().waitFor()
  expect(await page.content()).not.toContain(token)
  expect(await focused()).toBe('Devices')
})

it('names the port of devices in all commands where they have one of their own', async () => {
  await page.route('**/api/config.json', async route =>
    route.fulfill({
      json: { publicUrl: 'https://hub.example', deviceUrl: 'https://hub.example:6879' },
    }),
  )
  await page.goto(`${project}/devices/connect`)
  const panel = page.getByRole('tabpanel')
  for (const [name, command] of [
    ['This machine', 'node muster-agent run --hub https://hub.example:6879'],
    ['A Linux device', 'curl -fsS https://hub.example/install.sh -o install-muster.sh'],
    ['Public Nexigon agent', 'hub-url = "https://hub.example:6879"'],
    ['Simulated', 'node muster-agent simulate --hub https://hub.example:6879 --count 20'],
  ] as const) {
    await page.getByRole('tab', { name }).click()
    await panel.getByText(command, { exact: false }).first().waitFor()
  }
  await page.unroute('**/api/config.json')
})

it('shows no command for a Linux device where the hub has no HTTPS', async () => {
  await page.route('**/api/config.json', route =>
    route.fulfill({ json: { publicUrl: 'http://hub.example', deviceUrl: 'http://hub.example' } }),
  )
  await page.goto(`${project}/devices/connect`)
  const panel = page.getByRole('tabpanel', { name: 'A Linux device' })
  await panel.getByText('The script is offered over HTTPS only. Set MUSTER_PUBLIC_URL.').waitFor()
  expect(await panel.locator('.code').count()).toBe(0)
  await page.unroute('**/api/config.json')
})

it('greets a device that must be approved with its certificate, and says why a device was refused', async () => {
  await page.goto(`${project}/devices`)
  await page.getByRole('button', { name: 'Connect a device' }).click()
  await page.waitForURL(/\/devices\/connect$/)
  await page.getByRole('checkbox', { name: 'Auto-accept' }).uncheck()
  await page.getByLabel('Name').fill('Careful')
  await page.getByRole('button', { name: 'Create Token' }).click()
  const token = await page.locator('[data-secret] code').innerText()
  await page.getByText('Certificate accepted, by you').waitFor()
  await expectRefused(token)
  await page
    .getByRole('heading', { name: / waits for approval$/, level: 2 })
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Accept', exact: true }).waitFor()
  await expectGoodScreen(page, 'connect-guide-approval')

  // The token expires after it is shown and before a device uses it.
  await page.goto(`${project}/devices/connect`)
  await page.getByLabel('Name').fill('Too late')
  await page.getByRole('button', { name: 'Create Token' }).click()
  const late = await page.locator('[data-secret] code').innerText()
  const { tokens } = await invoke(page, 'projects_QueryDeploymentTokens', {
    projectId,
    filter: { text: 'Too late' },
  })
  const expiresAt = new Date(Date.now() - 1000).toISOString()
  await invoke(page, 'projects_SetDeploymentTokenLimits', {
    tokenId: tokens[0]!.tokenId,
    limits: { expiresAt },
  })
  await expectRefused(late)
  await polled(page.getByText(/^Refused \d+ times?: .*expired/), POLL_MS)
  await expectGoodScreen(page, 'connect-guide-refused')
  await page.getByRole('button', { name: 'Create another token' }).click()
  await page.getByRole('button', { name: 'Create Token' }).waitFor()
})

it('cannot be closed while the token is being created, because it is shown only once', async () => {
  await page.goto(`${project}/tokens`)
  await page.getByRole('button', { name: 'New Token' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New Token' })
  await dialog.getByLabel('Name').fill('Quay 0')
  const { promise: held, resolve: answer } = Promise.withResolvers<void>()
  const url = '**/invoke/projects_CreateDeploymentToken'
  await page.route(url, async route => {
    await held
    await route.continue()
  })
  await Promise.all([page.waitForRequest(url), dialog.getByRole('button', { name: 'Create Token' }).click()])
  await page.locator('dialog[aria-busy=true]').waitFor()
  expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true)
  expect(await dialog.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true)
  await page.keyboard.press('Escape')
  await page.mouse.click(5, 5)
  answer()
  const shown = page.getByRole('dialog', { name: 'Token created' })
  await shown.locator('[data-secret] code').waitFor()
  await page.unroute(url)
  await expectGoodScreen(page, 'new-token-created')
  await shown.getByRole('button', { name: 'Done' }).click()
  await shown.waitFor({ state: 'detached' })
})

it('keeps the filter of tokens in the URL, and shows the age of the list', async () => {
  for (let n = 1; n <= 8; n++)
    await invoke(page, 'projects_CreateDeploymentToken', { projectId, name: `Quay ${n}` })
  await page.goto(`${project}/tokens`)
  await page.getByText(/^Updated /).waitFor()
  await page.getByLabel('Filter tokens').fill('quay 3')
  await page.waitForURL(/[?&]q=quay(%20|\+)3$/)
  await page.getByText('Quay 1', { exact: true }).waitFor({ state: 'detached' })
  await expectGoodScreen(page, 'tokens-filtered')
  await page.reload()
  await page.getByText('Quay 3', { exact: true }).waitFor()
  expect(await page.getByLabel('Filter tokens').inputValue()).toBe('quay 3')
  expect(await page.getByRole('switch').count()).toBe(1)

  await page.getByLabel('Filter tokens').fill('no such token')
  await page.getByText('No tokens match this filter.').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('Quay 8', { exact: true }).waitFor()
  expect(page.url()).toBe(`${project}/tokens`)
  expect(await focused()).toBe('Tokens')

  const mend = await failAction(page, 'projects_QueryDeploymentTokens')
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByText('Last update failed just now').waitFor()
  await page.getByText('Could not load tokens.').waitFor()
  expect(await page.getByText('Quay 8', { exact: true }).count()).toBe(1)
  await mend()
  await Promise.all([
    page.getByText('Updated just now').waitFor(),
    page.getByRole('button', { name: 'Refresh' }).click(),
  ])
  expect(stage.faults).toEqual([])
})

it('waits for the first device with a new token, and says why one was refused', async () => {
  await page.goto(`${project}/tokens`)
  await page.getByRole('button', { name: 'New Token' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Pier 5 commissioning')
  expect(await dialog.getByRole('checkbox', { name: 'Auto-accept' }).isChecked()).toBe(true)
  expect(await dialog.getByRole('radio', { name: 'Never' }).isChecked()).toBe(true)
  await dialog.getByText('On a date').click()
  await dialog.getByRole('button', { name: 'Create Token' }).click()
  await dialog.getByText('Choose a date and a time.').waitFor()
  await dialog.getByLabel('Date and time').fill('2020-01-01T12:00')
  await dialog.getByText('The date must be in the future.').waitFor()
  await expectGoodScreen(page, 'token-new-date')
  await dialog.getByText('In 24 hours').click()
  await dialog.getByText(/^Refuses new devices from .* on\. Enrolled devices stay connected\.$/).waitFor()
  await dialog.getByRole('button', { name: 'Create Token' }).click()
  await dialog.getByText('Waiting for the first device with this token').waitFor()
  const token = await dialog.locator('[data-secret] code').innerText()
  const command = dialog.getByText(`/install.sh -o install-muster.sh && sudo sh install-muster.sh`)
  expect(await command.innerText()).not.toContain(token)
  await dialog.getByText('It asks for the token. Nothing is written into the history of the shell.').waitFor()
  await expectGoodScreen(page, 'token-secret-waiting')

  // The token expires after it is shown and before a device uses it.
  const expire = (at: string) =>
    changeDatabase(
      stage.hub,
      `update deployment_token set expires_at = ${at} where name = 'Pier 5 commissioning'`,
    )
  await expire(`now() - interval '1 s'`)
  await expect(connectDevice({ url: stage.hub.url, token })).rejects.toMatchObject({ status: 403 })
  await polled(
    dialog.getByText('A device was refused: the deployment token has expired for new devices.'),
    POLL_MS,
  )
  await expectGoodScreen(page, 'token-secret-refused')
  await expire(`now() + interval '3 days'`)
  await using device = await connectDevice({ url: stage.hub.url, token })
  await dialog.getByText('is connected.').waitFor()
  await expectGoodScreen(page, 'token-secret-connected')
  await dialog.getByRole('button', { name: 'Done' }).click()

  const row = page.getByRole('row').filter({ hasText: 'Pier 5 commissioning' })
  await row.getByText('In 2 days').waitFor()
  await expectGoodScreen(page, 'tokens-used')
  await row.getByRole('link', { name: '1 device' }).click()
  await page.getByText('Enrolled with Pier 5 commissioning').waitFor()
  await page.locator('tr[data-index]').waitFor()
  expect(await page.locator('tr[data-index]').count()).toBe(1)
  await expectGoodScreen(page, 'devices-of-token')
  await page.getByRole('button', { name: /^Remove condition: enrolled with/ }).click()
  await expect.poll(() => new URL(page.url()).search).toBe('')
  await invoke(page, 'devices_Delete', { deviceId: device.deviceId as never })
})

it('S3: shows the limits and the number of refused devices of a token, and changes the limits', async () => {
  const limits = { deviceLimit: 1 }
  const created = await invoke(page, 'projects_CreateDeploymentToken', {
    projectId,
    name: 'Line 5',
    flags: { autoAccept: true },
    limits,
  })
  await connect(created.token)
  await expectRefused(created.token)
  await page.goto(`${project}/tokens`)
  const row = page.getByRole('row').filter({ hasText: 'Line 5' })
  await row.getByText('1 of 1 enrolled').waitFor()
  await row.getByText(/^\d+ refused$/).waitFor()
  await row.getByText(/Limit token-devices: found 2, expected at most 1 devices/).waitFor()
  await expectGoodScreen(page, 'token-limits')

  const dialog = page.getByRole('dialog', { name: 'Limits of Line 5' })
  await row.getByRole('button', { name: 'Change limits of Line 5' }).click()
  await dialog.getByLabel('Device limit').fill('none')
  await dialog.getByRole('button', { name: 'Save Limits' }).click()
  await dialog.getByText('Device limit must be a whole number from 1 to 2,000,000,000, or blank.').waitFor()
  await expectGoodScreen(page, 'token-limits-dialog')
  await dialog.getByLabel('Device limit').fill('50')
  await dialog.getByLabel('Expires at').fill('2099-12-31T12:00')
  await dialog.getByLabel('New devices at once').fill('40')
  await dialog.getByRole('button', { name: 'Save Limits' }).click()
  await row.getByText(/of 50 enrolled/).waitFor()
  // One device has used the budget, which is full again after 6 s.
  await row.getByText(/^Budget (\d+ of )?40, \+600\/h$/).waitFor()
  await row.getByText('31 December 2099, 12:00').waitFor()

  await connect(created.token)
  await row.getByText(/^[23] of 50 enrolled$/).waitFor()
})

it('S4: shows the unregistered links of a device', async () => {
  const { token } = await invoke(page, 'projects_CreateDeploymentToken', {
    projectId,
    name: 'Line 6',
    flags: { autoAccept: true },
  })
  await using link = await connectDevice({ url: stage.hub.url, token, register: false })
  await page.goto(`${project}/devices/${link.deviceId}`)
  const section = page.getByRole('region', { name: 'Connections' })
  await section.getByText('1 unregistered link on this node').waitFor()
  await expectGoodScreen(page, 'device-links', () => section.scrollIntoViewIfNeeded())
})

/** Connects a new device with this token until the tests end. */
async function connect(token: string) {
  resources.use(await connectDevice({ url: stage.hub.url, token }))
}

/** Expects that the hub refuses the link of a new device with this token. */
async function expectRefused(token: string) {
  await expect(connectDevice({ url: stage.hub.url, token })).rejects.toBeInstanceOf(ConnectionRefused)
}

/** The text of the focused element. */
function focused(): Promise<string> {
  return page.evaluate('document.activeElement.innerText.trim()')
}
