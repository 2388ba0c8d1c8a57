import { until } from '@muster/testkit/until'
import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startAgent } from './agent-child.ts'
import { firstToken } from './hub-child.ts'
import {
  expectGoodScreen,
  failAction,
  invoke,
  openStage,
  organizationOf,
  type Stage,
  startSession,
} from './people.ts'

let stage: Stage
let page: Page
let organizationId: string
let projectId: string
let deviceIds: string[]
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  const fleet = ['--hub', stage.hub.url, '--token', firstToken(stage.hub), '--count', '3', '--no-outages']
  resources.use(startAgent(['simulate', ...fleet]))
  page = await stage.signedInPage()
  organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  projectId = projects[0]!.projectId
  deviceIds = await until(
    'the devices are connected',
    async () => {
      const { devices } = await invoke(page, 'projects_QueryDevices', { projectId })
      return devices.filter(({ isConnected }) => isConnected).length === 3 && devices.map(d => d.deviceId)
    },
    60_000,
  )
  for (const [index, deviceId] of deviceIds.entries())
    await invoke(page, 'devices_SetName', { deviceId, name: `crane-gw-0${index + 1}` })
  await invoke(page, 'projects_Create', { organizationId, name: 'Harbor cranes' })
  await invoke(page, 'repositories_Create', { organizationId, name: 'crane-software' })
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

const palette = () => page.getByRole('dialog', { name: 'Jump to' })
const box = () => palette().getByRole('combobox', { name: 'Jump to' })
const option = (name: string | RegExp) => palette().getByRole('option', { name })
const chosen = () => palette().locator('[aria-selected=true]').innerText()

it('finds and opens devices, projects and repositories from every page', async () => {
  // The shortcut works once the top bar is rendered.
  await page.getByRole('button', { name: 'Jump to' }).waitFor()
  await page.keyboard.press('Control+k')
  await box().fill('CRANE')
  await option(/^crane-gw-01/).waitFor()
  await option(/^Harbor cranes/).waitFor()
  await option(/^crane-software/).waitFor()
  expect(await palette().getByRole('group').count()).toBe(3)
  await option(/^crane-gw-01.*Connected/).waitFor()
  await expectGoodScreen(page, 'palette-found')
  expect(await chosen()).toContain('crane-gw-01')
  await page.keyboard.press('ArrowDown')
  expect(await chosen()).toContain('crane-gw-02')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'crane-gw-02' }).waitFor()
  expect(await palette().count()).toBe(0)

  // Finds a device by its id, and opens the result with a click instead of Enter.
  await page.getByRole('button', { name: 'Jump to' }).click()
  await box().fill(deviceIds[2]!)
  await option(/^crane-gw-03/).click()
  await page.getByRole('heading', { level: 1, name: 'crane-gw-03' }).waitFor()
})

it('opens the first result if Enter was pressed before the results arrived', async () => {
  await page.keyboard.press('Control+k')
  await box().pressSequentially('crane-gw-02')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'crane-gw-02' }).waitFor()
  expect(await palette().count()).toBe(0)
  // Changing the text cancels the pending Enter.
  const typed = Promise.withResolvers<void>()
  const held = async (route: Route): Promise<void> => {
    await typed.promise
    // The console has cancelled the request when the text changed.
    await route.fallback().catch(() => {})
  }
  await page.route('**/actions/invoke/**', held)
  await page.keyboard.press('Control+k')
  await box().pressSequentially('crane-gw-01')
  await page.keyboard.press('Enter')
  await box().pressSequentially('x')
  typed.resolve()
  await page.unroute('**/actions/invoke/**', held)
  await palette().getByText('Nothing matches this text.').waitFor()
  // Escape clears the text first and then closes the palette.
  await page.keyboard.press('Escape')
  expect(await box().inputValue()).toBe('')
  await page.keyboard.press('Escape')
  await palette().waitFor({ state: 'detached' })
  await page.getByRole('heading', { level: 1, name: 'crane-gw-02' }).waitFor()
})

it('finds a device by its addresses in any notation, and offers its actions', async () => {
  const deviceId = deviceIds[0]!
  const found = await invoke(page, 'devices_GetProperty', { deviceId, name: 'dev.nexigon.system.info' })
  if (found.result === 'NotFound') throw new Error('The simulated device reported no system information.')
  const { networks } = found.value as { networks: { macAddress: string; ipAddresses: string[] }[] }
  const mac = networks[0]!.macAddress
  const ip = networks[0]!.ipAddresses[0]!.split('/')[0]!
  const digits = mac.replaceAll(':', '')
  await page.keyboard.press('Control+k')
  for (const [text, marked] of [
    [ip, ip],
    [mac.toUpperCase(), mac],
    [mac.replaceAll(':', '-'), mac],
    [(digits.match(/.{4}/g) ?? []).join('.'), mac],
    [digits, mac],
    // Only the last three bytes of the MAC address, which labels on devices often show.
    [mac.slice(9), mac.slice(9)],
  ] as const) {
    await box().fill(text)
    const device = option(/^crane-gw-01/)
    await device.waitFor()
    await expect.poll(() => device.locator('mark').innerText()).toBe(marked)
  }
  await expectGoodScreen(page, 'palette-address')
  expect(await palette().getByRole('group').first().getAttribute('aria-label')).toBe('Devices')
  const opened = page.context().waitForEvent('page')
  await page.keyboard.press('Control+Enter')
  const tab = await opened
  await tab.getByRole('heading', { level: 1, name: 'crane-gw-01' }).waitFor()
  await tab.close()
  await page.keyboard.press('Control+c')
  await palette().getByText(`${deviceId} copied.`).waitFor()
  await box().fill(ip)
  await palette().getByText(`${deviceId} copied.`).waitFor({ state: 'detached' })
  await option('Copy the device id').click()
  await palette().getByText(`${deviceId} copied.`).waitFor()
  await option('Everything about crane-gw-01 in the audit log').click()
  await page.waitForURL(url => url.pathname.endsWith(`/devices/${deviceId}/log`))
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'crane-gw-02' }).waitFor()

  await page.keyboard.press('Control+k')
  await box().fill(ip)
  await option(`Find ${ip} in the audit log`).click()
  await page.waitForURL(
    url => url.pathname.endsWith(`/projects/${projectId}/log`) && url.searchParams.get('q') === ip,
  )
  await page
    .locator('td[data-k="What happened"]')
    .getByRole('link', { name: 'crane-gw-01' })
    .first()
    .waitFor()
  expect(await page.locator('td[data-k="What happened"]').filter({ hasText: 'crane-gw-02' }).count()).toBe(0)
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/devices/${deviceIds[1]}`)
  await page.getByRole('heading', { level: 1, name: 'crane-gw-02' }).waitFor()
})

it('shows the label or the serial number by which a device was found, as the list does', async () => {
  const [, deviceId] = deviceIds
  await invoke(page, 'devices_SetLabels', { deviceId: deviceId!, set: { site: 'pier-7 north' }, remove: [] })
  const found = await invoke(page, 'devices_GetProperty', { deviceId: deviceId!, name: 'device' })
  if (found.result === 'NotFound') throw new Error('The simulated device reported no serial number.')
  const { serial } = found.value as { serial: string }
  await page.keyboard.press('Control+k')
  for (const [text, word, marked] of [
    ['site=pier-7', 'Label', 'site=pier-7'],
    ['pier-7', 'Label', 'pier-7'],
    [serial.toLowerCase(), 'Serial number', serial],
  ] as const) {
    await box().fill(text)
    const device = option(/^crane-gw-02/)
    await expect.poll(() => device.locator('mark').allInnerTexts()).toEqual([marked])
    expect(await device.innerText()).toContain(word)
  }
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/devices?q=pier-7`)
  const row = page.locator('tr[data-index]')
  await expect.poll(() => row.locator('mark').allInnerTexts()).toEqual(['pier-7'])
  expect(await row.innerText()).toContain('Label site=pier-7 north')
  await expectGoodScreen(page, 'list-found')
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/devices/${deviceId}`)
  await page.getByRole('heading', { level: 1, name: 'crane-gw-02' }).waitFor()
})

it('runs actions of the page and of the session, by keys and by touch', async () => {
  const own = await stage.newPage()
  await startSession(own, stage)
  await own.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/devices`)
  await own.getByRole('link', { name: 'crane-gw-01', exact: true }).waitFor()
  const choose = async (text: string, name: string | RegExp) => {
    await own.keyboard.press('Control+k')
    const list = own.getByRole('dialog', { name: 'Jump to' })
    await list.getByRole('combobox').fill(text)
    await list.getByRole('option', { name }).waitFor()
    await own.keyboard.press('Enter')
    await list.waitFor({ state: 'detached' })
  }
  await own.keyboard.press('Control+k')
  for (const filter of ['Show devices whose update failed', 'Show devices offline for more than 24 h'])
    await own.getByRole('option', { name: new RegExp(`^${filter}.*0 devices$`) }).waitFor()
  await expectGoodScreen(own, 'palette-devices')
  await own.keyboard.press('Escape')
  await Promise.all([own.waitForResponse('**/projects_QueryDevices'), choose('refre', /^Refresh/)])
  await choose('24 h', 'Show devices offline for more than 24 h')
  await own.waitForURL(/show=offlineLong/)
  await choose('dark', 'Use the dark theme')
  await own.locator('html[data-theme=dark]').waitFor()
  await choose('light', 'Use the light theme')
  await own.locator('html[data-theme=light]').waitFor()
  await choose('system', 'Use the theme of the system')

  await own.getByRole('link', { name: 'Tokens' }).click()
  await own.getByRole('heading', { level: 1, name: 'Tokens' }).waitFor()
  await own.setViewportSize({ width: 390, height: 844 })
  await own.getByRole('button', { name: 'Jump to' }).click()
  const list = own.getByRole('dialog', { name: 'Jump to' })
  await list.getByRole('group', { name: 'This page' }).getByRole('option', { name: 'New Token' }).waitFor()
  const recent = list.getByRole('group', { name: 'Recently opened' }).getByRole('option').first()
  expect(await recent.innerText()).toContain('Devices')
  expect(Math.round((await recent.boundingBox())!.height)).toBeGreaterThanOrEqual(52)
  await expectGoodScreen(own, 'palette-start')
  await own.setViewportSize({ width: 390, height: 844 })
  await recent.click()
  await own.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()
  await choose('log out', 'Log Out')
  await own.waitForURL(/\/login$/)
  await own.context().close()
})

it('lists pages, with those of the project first', async () => {
  await page.keyboard.press('Control+k')
  await palette().getByRole('group', { name: 'This project' }).waitFor()
  await expectGoodScreen(page, 'palette-pages')
  await box().fill('tok')
  expect(await chosen()).toContain('Tokens')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Tokens' }).waitFor()
  // The palette also opens pages that are not in the navigation.
  await page.keyboard.press('Control+k')
  await box().fill('jobs')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
})

it('opens the create dialog of a page, once', async () => {
  const dialog = (name: string) => page.getByRole('dialog', { name })
  await page.keyboard.press('Control+k')
  await box().fill('create')
  expect(await chosen()).toContain('Create Project')
  await page.keyboard.press('Enter')
  await dialog('Create Project').waitFor()
  await expectGoodScreen(page, 'new-project')
  await page.keyboard.press('Escape')
  await dialog('Create Project').waitFor({ state: 'detached' })
  await page.reload()
  await page.getByRole('link', { name: 'Harbor cranes' }).click()
  await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
  await page.goForward()
  await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()

  // The palette also opens a dialog while the dialog's own page is shown. `New Token` exists twice: for the project and for the
  // account.
  await page.keyboard.press('Control+k')
  await box().fill('new token')
  await option('New Token This project').click()
  await dialog('New Token').waitFor()
  await page.keyboard.press('Escape')
  await dialog('New Token').waitFor({ state: 'detached' })
  // The guide that connects a device is a page. Back leads to the list and does not open the guide again.
  await page.keyboard.press('Control+k')
  await box().fill('connect a')
  await option('Connect a device This project').click()
  await page.getByRole('heading', { level: 1, name: 'Connect a device' }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()
  await page.keyboard.press('Control+k')
  await box().fill('new')
  await expectGoodScreen(page, 'palette-actions')
  await option('New Token Account').click()
  await page.waitForURL(/\/settings\/security$/)
  await dialog('New Token').waitFor()
  await page.keyboard.press('Escape')
  for (const [text, name] of [
    ['invite', 'Invite User'],
    ['new repo', 'New Repository'],
    ['new user', 'New User'],
  ] as const) {
    await page.keyboard.press('Control+k')
    await box().fill(text)
    await page.keyboard.press('Enter')
    await dialog(name).waitFor()
    await page.keyboard.press('Escape')
  }
})

it('shows that nothing matches or that the search failed, and restores the focus', async () => {
  const opener = page.getByRole('button', { name: 'Jump to' })
  await opener.click()
  await box().fill('zzzz')
  await palette().getByText('Nothing matches this text.').waitFor()
  const mend = await failAction(page, 'organizations_Search')
  await box().fill('crane-x')
  await palette().getByText('Could not search.').waitFor()
  await mend()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await palette().waitFor({ state: 'detached' })
  await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('Jump to')
  expect(stage.faults).toEqual([])
})
