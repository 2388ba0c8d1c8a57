import { CONSOLE_PATHS } from '@muster/actions'
import { connectDevice } from '@muster/testkit/device'
import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase, firstToken } from './hub-child.ts'
import { actionsOf, urlOf } from './page-actions.ts'
import { expectGoodScreen, failAction, invoke } from './people.ts'
import { openPopulatedStage, type PopulatedStage } from './populated-stage.ts'

/** Maximum number of actions until a page is complete (docs/decisions.md, "Loading"). */
const MOST_ACTIONS = 8

let populated: PopulatedStage
/** Page of the instance's administrator. */
let page: Page
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  populated = resources.use(await openPopulatedStage())
})

beforeEach(async () => {
  page = await populated.stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

const DEVICE = '/org_{$organization}/projects/$projectId/devices/$deviceId'

it.each(CONSOLE_PATHS)('C23: is complete after at most 8 actions: %s', async path => {
  const sent = await actionsOf(page, urlOf(populated, path))
  expect(sent.length, sent.join('\n')).toBeLessThanOrEqual(MOST_ACTIONS)
})

it('C23: shows a device that waits for approval after at most 8 actions', async () => {
  const { devices } = populated
  const sent = await actionsOf(page, urlOf(populated, DEVICE).replace(devices.Active, devices.Pending))
  await page.getByRole('heading', { name: 'Compare the fingerprint with the device' }).waitFor()
  expect(sent.length, sent.join('\n')).toBeLessThanOrEqual(MOST_ACTIONS)
})

it('C23: shows a device with a failed update and its versions after at most 8 actions', async () => {
  const { stage, repositoryId, packageId } = populated
  await using device = await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) })
  await using other = await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) })
  await changeDatabase(stage.hub, "update asset set status = 'Available'")
  for (const { deviceId, invoke: report } of [device, other]) {
    const set = (name: string, value: unknown) => report('devices_SetProperty', { deviceId, name, value })
    await set('dev.nexigon.ota.config', { path: `${repositoryId}/${packageId}/stable` })
    await set('dev.nexigon.system.info', {
      disks: [{ name: '/dev/a', mountPoint: '/data', totalSpace: 1_000_000, availableSpace: 10 }],
    })
    await set('dev.nexigon.ota.status', {
      state: 'failed',
      currentVersion: '1.3.0',
      targetVersion: '1.4.0',
      failureCount: 2,
      lastError: 'no space left on device',
    })
  }
  const sent = await actionsOf(
    page,
    urlOf(populated, DEVICE).replace(populated.devices.Active, device.deviceId),
  )
  const problem = page.locator('.problem-box')
  await problem.getByText('The bundle needs 1.5 KiB').waitFor()
  await problem.getByRole('link', { name: 'Open 1.4.0' }).waitFor()
  await problem.getByRole('link', { name: '2 devices fail with this error' }).waitFor()
  expect(sent.length, sent.join('\n')).toBeLessThanOrEqual(MOST_ACTIONS)
})

it('C23: asks for the parts of a device one by one if they cannot be read together', async () => {
  const mendPage = await failAction(page, 'devices_GetPage')
  const mendEvents = await failAction(page, 'devices_QueryEvents')
  const sent = await actionsOf(page, urlOf(populated, DEVICE))
  await page.getByRole('heading', { name: 'Could not load events' }).waitFor()
  await page.getByRole('region', { name: 'System Info' }).getByText('192.0.2.7').waitFor()
  expect(sent).toEqual(expect.arrayContaining(['devices_GetDetails', 'devices_QueryConnections']))
  await Promise.all([mendPage(), mendEvents()])
})

it('C23: shows changes by people in the section Connection', async () => {
  await invoke(page, 'devices_SetName', { deviceId: populated.devices.Active, name: 'crane-one' })
  await actionsOf(page, urlOf(populated, DEVICE))
  const region = page.getByRole('region', { name: 'Connection', exact: true })
  await region.getByText('Changed by a person', { exact: true }).waitFor()
  await invoke(page, 'devices_SetName', { deviceId: populated.devices.Active, name: 'crane-1' })
})

it('C23: the sign-in page takes input and a submit before its scripts have loaded', async () => {
  const { stage } = populated
  const held: Route[] = []
  let isHeld = true
  const fresh = await stage.newPage()
  await fresh.route('**/assets/*.js', route => (isHeld ? void held.push(route) : route.continue()))
  await fresh.goto(`${stage.hub.url}/login?redirect=/settings/profile`, { waitUntil: 'commit' })
  await fresh.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  expect(await fresh.title()).toBe('Log in · Muster')
  // The scripts that follow the theme of the system are held back.
  await fresh.evaluate(`
    matchMedia('(prefers-color-scheme: dark)').onchange = ({ matches }) => {
      document.documentElement.dataset.theme = matches ? 'dark' : 'light'
    }`)
  await expectGoodScreen(fresh, 'login-static')
  await fresh.getByLabel('Email').fill(stage.admin.email)
  await fresh.getByLabel('Remember me').check()
  await fresh.getByLabel(/^Password/).pressSequentially(stage.admin.password.slice(0, -1))
  const release = async (): Promise<void> => {
    isHeld = false
    for (const route of held.splice(0)) await route.continue()
    await fresh.locator('#root form').waitFor()
  }
  await release()
  expect(await fresh.locator('#static').count()).toBe(0)
  await fresh.locator('[name=password]:focus').waitFor()
  expect(await fresh.getByLabel('Email').inputValue()).toBe(stage.admin.email)
  expect(await fresh.getByLabel('Remember me').isChecked()).toBe(true)
  await fresh.keyboard.press('End')
  await fresh.keyboard.type(stage.admin.password.slice(-1))
  expect(await fresh.getByLabel(/^Password/).inputValue()).toBe(stage.admin.password)

  // The click of a button that is replaced while it is held down would be lost.
  isHeld = true
  await fresh.reload({ waitUntil: 'commit' })
  await fresh.getByLabel('Email').fill(stage.admin.email)
  await fresh.getByLabel(/^Password/).fill(stage.admin.password)
  await fresh.getByRole('button', { name: 'Log in' }).hover()
  await fresh.mouse.down()
  await release()
  await fresh.mouse.up()
  await fresh.waitForURL(/\/settings\/profile$/)

  isHeld = true
  await fresh.goto(`${stage.hub.url}/login?redirect=/settings/profile`, { waitUntil: 'commit' })
  await fresh.getByLabel('Email').fill(stage.admin.email)
  await fresh.getByLabel(/^Password/).fill(stage.admin.password)
  await fresh.keyboard.press('Enter')
  await fresh.getByRole('button', { name: 'Log in' }).click()
  expect(new URL(fresh.url()).search).toBe('?redirect=/settings/profile')
  isHeld = false
  for (const route of held.splice(0)) await route.continue()
  await fresh.waitForURL(/\/settings\/profile$/)
  await fresh.context().close()
})

it('C23: the sign-in page says that it needs scripts, and shows no form without them', async () => {
  const { stage } = populated
  const context = await stage.newContext({ javaScriptEnabled: false })
  const plain = await context.newPage()
  await plain.goto(`${stage.hub.url}/login`)
  // Playwright finds no texts in `noscript`.
  const text = plain.locator('noscript')
  await text.waitFor()
  expect(await text.innerText()).toBe('Muster needs JavaScript.')
  expect(await plain.locator('form').isVisible()).toBe(false)
  await context.close()
})
