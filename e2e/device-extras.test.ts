import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type AgentChild, agentCommand, startAgent } from './agent-child.ts'
import { firstToken, newFolder } from './hub-child.ts'
import { expectGoodScreen, failAction, invoke, openStage, type Stage } from './people.ts'

/** Port of the device's web server. The console requests a proxy URL without a port, and the hub then uses port 80. */
const WEB_PORT = 80
const LONG_NAME = `crane.${'x'.repeat(200)}`

let stage: Stage
let page: Page
let agent: AgentChild
/** Last arguments of every agent command. They identify the hub and the device. */
let device: string[]
let deviceId: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  const { path } = resources.use(await newFolder())
  device = ['--hub', stage.hub.url, '--token', firstToken(stage.hub), '--data', join(path, 'agent')]
  agent = resources.use(startAgent(['run', ...device]))
  page = await stage.signedInPage()
  await page.getByRole('link', { name: 'First project' }).click()
  await page.getByRole('row').getByRole('link', { name: 'View' }).click()
  await page.locator('.EntityHead-head').getByText('Connected', { exact: true }).waitFor()
  deviceId = page.url().split('/').at(-1)!
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

it('shows the past values of a property with time and author, and updates them', async () => {
  await setByDevice('crane.limits', '{"loadKg":42500}')
  const past = await openHistory('crane.limits')
  await past.getByText('"loadKg": 42500').waitFor()
  const rows = past.locator('tbody tr')
  expect(await rows.count()).toBe(1)
  await past.getByText('This device', { exact: true }).waitFor()
  expect(await past.locator('time').getAttribute('datetime')).toMatch(/^\d{4}-\d\d-\d\dT/)

  await set('crane.limits', ['raised', { loadKg: 45_000, by: 'Mira <b>Økafør</b> 🚜' }])
  const newest = rows.first()
  await newest.getByText('"loadKg": 45000').waitFor()
  await newest.getByText('current', { exact: true }).waitFor()
  await expectGoodScreen(page, 'property-history')

  // The property's row is removed, but its history stays on screen.
  await invoke(page, 'devices_RemoveProperty', { deviceId, name: 'crane.limits' })
  await newest.getByText('Removed', { exact: true }).waitFor()
  await setByDevice('crane.limits', '{"loadKg":42500}')
  await expect.poll(() => rows.count()).toBe(4)
  // The values and the property arrive separately. Setting a past value again fails until the page has the property's version.
  await page.getByRole('button', { name: 'Copy value of crane.limits', exact: true }).waitFor()
  await rows
    .nth(2)
    .getByRole('button', { name: /^Set again/ })
    .click()
  await page.getByText('crane.limits was set again.').waitFor()
  await newest.getByText('"loadKg": 45000').waitFor()
  await closeHistory('crane.limits')
})

it('shows past values page by page, and fits a property name of 206 characters', async () => {
  for (let n = 1; n <= 23; n++) await set(LONG_NAME, n)
  const past = await openHistory(LONG_NAME)
  const values = () => past.locator('pre').allInnerTexts()
  const from = (newest: number, oldest: number) =>
    Array.from({ length: newest - oldest + 1 }, (_, index) => String(newest - index))
  await expect.poll(values).toEqual(from(23, 4))
  await expectGoodScreen(page, 'property-history-pages')
  await past.getByRole('button', { name: 'Show earlier values' }).click()
  await expect.poll(values).toEqual(from(23, 1))
  await set(LONG_NAME, 24)
  await expect.poll(values).toEqual(from(24, 1))
  await closeHistory(LONG_NAME)
})

it('shows a message if a property has no past values or they cannot be loaded', async () => {
  const past = await openHistory('dev.nexigon.system.info')
  await past.getByText('No past values.', { exact: true }).waitFor()
  await expectGoodScreen(page, 'property-history-none')
  await closeHistory('dev.nexigon.system.info')

  await set('crane.wind', 12)
  const mend = await failAction(page, 'devices_QueryPropertyHistory')
  await openHistory('crane.wind')
  await past.getByRole('heading', { name: 'Could not load past values' }).waitFor()
  await expectGoodScreen(page, 'property-history-failed')
  await mend()
  await past.getByRole('button', { name: 'Try again' }).click()
  await past.locator('pre').getByText('12', { exact: true }).waitFor()
  await closeHistory('crane.wind')
})

it('shows in its header that a part of the page could not be refreshed', async () => {
  await page.reload()
  const head = page.locator('.EntityHead-head')
  await head.getByText(/^Updated /).waitFor()
  const mendDetails = await failAction(page, 'devices_GetDetails')
  const mendEvents = await failAction(page, 'devices_QueryEvents')
  // The page polls once a minute. A change makes it refetch immediately.
  await invoke(page, 'devices_SetName', { deviceId, name: 'crane' })
  await head.getByText('Last update failed just now').waitFor()
  // The data of the last successful refresh stay on screen.
  await page.getByRole('heading', { level: 1, name: 'unnamed' }).waitFor()
  // They do not say whether anything is wrong now.
  await page.getByText(/^Nothing is wrong\./).waitFor({ state: 'detached' })
  await expectGoodScreen(page, 'device-stale')
  await emit('Not seen')
  await mendDetails()
  await invoke(page, 'devices_SetName', { deviceId, name: '' })
  await mendEvents()
  await emit('Seen')
  await page.getByText('Seen', { exact: true }).waitFor()
  await head.getByText(/^Updated /).waitFor()
})

it('marks the section of a clicked link, even if the page is too short to scroll it to the top', async () => {
  const current = page.locator('.AnchorNav-nav [aria-current]')
  for (const section of ['System Info', 'Connections', 'Danger Zone', 'Overview']) {
    await page.locator('.AnchorNav-nav').getByRole('link', { name: section }).click()
    await current.getByText(section).waitFor()
    // The navigation must still mark this section as the current one after scrolling has ended.
    await page.evaluate('new Promise(rest => setTimeout(rest, 200))')
    expect(await current.innerText()).toContain(section)
  }
  await page.evaluate('scrollTo(0, 0)')
})

it("opens a new link to the device's web page at each click", async () => {
  await proxyButton().hover()
  await page.getByRole('tooltip').getByText('Link valid for 2 hours').waitFor()
  await expectGoodScreen(page, 'device-proxy')
  const first = await openProxy()
  const second = await openProxy()
  expect(first.url).not.toBe(second.url)
  expect(first.asked).toEqual({ deviceId, validForSecs: 7200 })
  for (const { url, opened } of [first, second]) {
    expect(await opened.evaluate('window.opener')).toBeNull()
    expect(new URL(opened.url()).origin).toBe(new URL(url).origin)
    await opened.close()
  }
})

it("shows the device's web page in the new window, without the console's cookies", async ({ skip }) => {
  const cookies: (string | undefined)[] = []
  const service = createServer((request, response) => {
    cookies.push(request.headers.cookie)
    response.setHeader('set-cookie', ['muster=mine; Path=/', 'sid=1; Path=/; Domain=localhost'])
    response.setHeader('content-type', 'text/html').end('<!doctype html><h1>Pump station</h1>')
  })
  service.listen(WEB_PORT, '127.0.0.1')
  const failure = await once(service, 'listening').then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error,
  )
  if (failure) skip(`port ${WEB_PORT} is not to be had on this machine: ${failure.code}`)
  resources.defer(() => void service.close())
  const { opened } = await openProxy()
  await opened.getByRole('heading', { name: 'Pump station' }).waitFor()
  // The browser has the console's session cookie but does not send it to the device's host. The device's cookies do not reach
  // the console's host.
  const console = await page.context().cookies(page.url())
  const session = console.find(({ name }) => name === 'muster')!
  expect(session.value).toMatch(/^u_session_sk_/)
  expect(cookies.length).toBeGreaterThan(0)
  for (const cookie of cookies) expect(cookie ?? '').not.toContain(session.value)
  expect(console.map(({ name }) => name)).not.toContain('sid')
  expect(await opened.evaluate('document.cookie')).toBe('muster=mine; sid=1')
  await opened.close()
})

it('shows in the new window that the device is offline, and closes it if no link is issued', async () => {
  await agent[Symbol.asyncDispose]()
  await page.locator('.EntityHead-head').getByText('Disconnected', { exact: true }).waitFor()
  const { opened } = await openProxy()
  await opened.getByRole('heading', { name: 'The device is not connected' }).waitFor()
  await opened.close()

  const url = '**/invoke/devices_IssueHttpProxyToken'
  await page.route(url, route =>
    route.fulfill({ status: 403, json: { kind: 'Forbidden', message: 'Not for you.' } }),
  )
  const [refused] = await Promise.all([page.waitForEvent('popup'), proxyButton().click()])
  if (!refused.isClosed()) await refused.waitForEvent('close')
  await page.getByText("Could not open the device's pages").waitFor()
  await page.getByText('Not for you.').waitFor()
  await page.unroute(url)

  await page.evaluate('window.open = () => null')
  await proxyButton().click()
  await page.getByText('The browser blocked the new window.', { exact: false }).waitFor()
})

it('keeps the focus in the section when the last certificate is deleted', async () => {
  await page.reload()
  await page.getByRole('button', { name: /^Delete certificate / }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('No certificates.').waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.innerText')).toBe('No certificates.')
  await expectGoodScreen(page, 'device-no-certificate')
})

it('shows the whole id of a device in the opened row of the audit log, with a copy button', async () => {
  await page.getByRole('link', { name: 'Audit Log' }).click()
  const row = page.getByRole('row').filter({ hasText: 'enrolled with the token' }).first()
  await row.getByRole('button', { name: /^Details of / }).click()
  const actor = page.locator('tr[data-detail] .copyable').filter({ hasText: deviceId }).first()
  await actor.getByRole('button', { name: 'Copy actor id' }).waitFor()
  const ids = `[...document.querySelectorAll('tr[data-detail] .Id-text')]`
  expect(await page.evaluate(`${ids}.some(id => id.scrollWidth > id.clientWidth)`)).toBe(false)
  await expectGoodScreen(page, 'project-log-device')
  expect(stage.faults).toEqual([])
})

const proxyButton = () => page.getByRole('button', { name: 'HTTP Proxy' })

/**
 * Clicks the button HTTP Proxy. Resolves to the input of the action, the URL in its answer, and the new window once it has
 * opened that URL.
 */
async function openProxy(): Promise<{ asked: unknown; url: string; opened: Page }> {
  const [opened, response] = await Promise.all([
    page.waitForEvent('popup'),
    page.waitForResponse('**/invoke/devices_IssueHttpProxyToken'),
    proxyButton().click(),
  ])
  const { url } = (await response.json()) as { url: string }
  await opened.waitForURL(({ origin }) => origin === new URL(url).origin)
  return { asked: response.request().postDataJSON(), url, opened }
}

async function openHistory(name: string) {
  await page.getByRole('button', { name: `Past values of ${name}`, exact: true }).click()
  const past = page.locator('.properties-past')
  await past
    .getByRole('heading', { name: `Past values of ${name}`, exact: true })
    .waitFor({ state: 'attached' })
  return past
}

async function closeHistory(name: string) {
  await page.getByRole('button', { name: `Past values of ${name}`, exact: true }).click()
  await page.locator('.properties-past').waitFor({ state: 'detached' })
}

const emit = (body: string) =>
  agentCommand([
    'events',
    'emit',
    '--severity',
    'info',
    '--category',
    'crane',
    JSON.stringify(body),
    ...device,
  ])

const set = (name: string, value: unknown) => invoke(page, 'devices_SetProperty', { deviceId, name, value })

const setByDevice = (name: string, json: string) =>
  agentCommand(['device', 'properties', 'set', name, json, ...device])
