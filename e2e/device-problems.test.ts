import { connectDevice, type FakeDevice } from '@muster/testkit/device'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { changeDatabase, firstToken } from './hub-child.ts'
import {
  expectGoodScreen,
  failAction,
  invoke,
  openStage,
  organizationOf,
  type Stage,
  signIn,
  signOut,
} from './people.ts'

let stage: Stage
let page: Page
let device: FakeDevice
let list: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  page = await stage.newPage()
  await signIn(page, stage, stage.admin)
  const organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  list = `${stage.hub.url}/${organizationId}/projects/${projects[0]!.projectId}/devices`
  device = resources.use(await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) }))
})

afterAll(() => resources.disposeAsync())

/** Sets a property as the device. */
function report(name: string, value: unknown): Promise<unknown> {
  return device.invoke('devices_SetProperty', { deviceId: device.deviceId, name, value })
}

const problem = () => page.locator('.problem')

it('shows no problem box while nothing is wrong', async () => {
  await report('dev.nexigon.system.health', { status: 'healthy' })
  await report('dev.nexigon.ota.status', { state: 'completed', currentVersion: '2.22.4' })
  await page.goto(`${list}/${device.deviceId}`)
  await page.getByText('2.22.4').first().waitFor()
  expect(await problem().count()).toBe(0)
})

it('says as a sentence what is wrong, since when, and what to do next, as the device reports it', async () => {
  for (const failureCount of [1, 2]) {
    await report('dev.nexigon.ota.status', {
      state: 'installing',
      targetVersion: '2.23.0',
      failureCount: failureCount - 1,
    })
    await report('dev.nexigon.ota.status', {
      state: 'failed',
      currentVersion: '2.22.4',
      targetVersion: '2.23.0',
      failureCount,
      lastError: 'no space left on device',
    })
  }
  await report('dev.nexigon.system.info', {
    hostname: 'crane-gw-0412',
    disks: [
      { name: '/dev/mmcblk0p5', mountPoint: '/data', totalSpace: 536_870_912, availableSpace: 43_200_000 },
      { name: '/dev/mmcblk0p3', mountPoint: '/', totalSpace: 2_000_000_000, availableSpace: 1_200_000_000 },
    ],
  })
  await problem()
    .getByRole('heading', { name: 'Update to 2.23.0 failed 2 times: no space left on device' })
    .waitFor()
  await problem().getByText('/data has 8 % free.').waitFor()
  await expect.poll(() => problem().innerText()).toMatch(/First now, last now\./)
  await report('dev.nexigon.system.health', { status: 'degraded' })
  await problem().getByText('Health: degraded').waitFor()
  await page.locator('.dhead').getByText('Warning', { exact: true }).waitFor()
  await expectGoodScreen(page, 'device-problem')
  await problem().getByRole('link', { name: 'See the disks' }).click()
  await expect.poll(() => new URL(page.url()).hash).toBe('#sys')
})

it('opens declared web pages and other ports in a window of their own', async () => {
  await report('dev.nexigon.system.info', {
    exports: [
      { protocol: 'http', name: 'Crane HMI', port: 8080, path: '/ui?tab=wind' },
      { protocol: 'ssh', name: 'Shell', port: 22 },
      { protocol: 'http', name: 'No port', port: 70_000 },
    ],
  })
  const proxy = page.locator('#web')
  const hmi = proxy.getByRole('button', { name: /^Crane HMI/ })
  await hmi.waitFor()
  expect(await proxy.getByRole('listitem').allInnerTexts()).toEqual([
    expect.stringMatching(/Crane HMI.*http · 8080\/ui\?tab=wind$/s),
    expect.stringMatching(/^Shell\s+ssh · 22$/),
  ])
  await proxy.getByLabel('Another port').fill('70000')
  await proxy.getByRole('button', { name: 'Open', exact: true }).click()
  await proxy.getByRole('alert').getByText('A port is a number from 1 to 65535.').waitFor()
  await proxy.scrollIntoViewIfNeeded()
  await expectGoodScreen(page, 'device-proxy')
  const [window, issued] = await Promise.all([
    page.waitForEvent('popup'),
    page.context().waitForEvent('request', request => request.url().includes('muster_token=')),
    hmi.click(),
  ])
  const { pathname, searchParams } = new URL(issued.url())
  expect([pathname, searchParams.get('tab')]).toEqual(['/ui', 'wind'])
  await window.close()
})

it('keeps a long error and an unbroken one inside the page', async () => {
  await report('dev.nexigon.ota.status', {
    state: 'failed',
    targetVersion: 'x'.repeat(200),
    failureCount: 4_000_000,
    lastError: `<b>مرحبا</b> ${'e'.repeat(400)}`,
  })
  await problem()
    .getByRole('heading', { name: /failed 4,000,000 times: <b>مرحبا<\/b> e+…$/ })
    .waitFor()
  await expectGoodScreen(page, 'device-problem-long')
})

it('shows the health of a device beside its connection in the list, until it is healthy or disconnected', async () => {
  await page.goto(list)
  const status = page.locator('.devices .status')
  await expect.poll(() => status.innerText()).toMatch(/^Connected\s+·\s+Warning$/)
  await report('dev.nexigon.system.health', { status: 'error' })
  await expect.poll(() => status.innerText()).toMatch(/^Connected\s+·\s+Error$/)
  await expectGoodScreen(page, 'devices-health')
  await page.getByRole('button', { name: 'Warning', exact: true }).click()
  await page.getByText('No devices match this filter.').waitFor()
  await page.getByRole('button', { name: 'Update failed', exact: true }).click()
  await status.waitFor()
  expect(new URL(page.url()).searchParams.get('show')).toBe('updateFailed')
  await page.goto(list.replace(/\/projects\/.*/, '/projects'))
  await expectGoodScreen(page, 'projects-health')
  await page.getByRole('link', { name: '1 error' }).click()
  await page.waitForURL(`${list}?show=error`)
  await status.waitFor()
  await page.getByText('1 device', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Any health', exact: true }).click()
  await report('dev.nexigon.system.health', { status: 'a word of tomorrow' })
  await expect.poll(() => status.innerText()).toBe('Connected')
})

it('opens a device with a click anywhere in its row, and copies its id without opening it', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Copy device id' }).click()
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(device.deviceId)
  expect(page.url()).toBe(list)
  // The link covers the cell, so the cell itself would not receive the click.
  await page.locator('.devices .c-pend').click({ force: true })
  await page.waitForURL(`${list}/${device.deviceId}`)
})

it('says why the hub refused a device that is not connected', async () => {
  await device[Symbol.asyncDispose]()
  await changeDatabase(
    stage.hub,
    `update device set last_refusal_at = now() - interval '3 minutes', last_refusal_reason = 'certificate is revoked', last_refusal_count = 15`,
  )
  await page.goto(`${list}/${device.deviceId}`)
  await problem().getByRole('heading', { name: 'Refused 15 times: certificate is revoked' }).waitFor()
  // The box shows the failed update of an earlier test below the refusal.
  await problem()
    .locator('.pmore')
    .getByText(/^Update to x+ failed/)
    .waitFor()
  await expectGoodScreen(page, 'device-refused')
  await problem().getByRole('link', { name: 'Check its certificates' }).click()
  await expect.poll(() => new URL(page.url()).hash).toBe('#certs')
  expect(stage.faults).toEqual([])
})

it('says in the row why the hub refused a deletion, and sends a waiting deletion before the sign-out', async () => {
  const deleteDevice = async () => {
    await page.goto(`${list}/${device.deviceId}`)
    await page.getByRole('button', { name: 'Delete Device' }).click()
    await page.waitForURL(list)
    await page.getByText(/^Deleting in \d+ s\.$/).waitFor()
  }
  const accept = await failAction(page, 'devices_Delete', 'The disk is full.')
  await deleteDevice()
  await expectGoodScreen(page, 'device-deleting')
  await page
    .getByRole('row')
    .getByText(/^Not deleted:/)
    .waitFor()
  await expectGoodScreen(page, 'device-not-deleted')
  await page.getByRole('button', { name: 'Dismiss' }).click()
  await accept()

  await deleteDevice()
  const answered: string[] = []
  page.on('response', response => answered.push(response.url().split('/').at(-1)!))
  const loggedOut = page.waitForResponse('**/logout')
  await signOut(page)
  await loggedOut
  expect(answered.filter(name => /devices_Delete|logout/.test(name))).toEqual(['devices_Delete', 'logout'])
  await signIn(page, stage, stage.admin)
  await page.goto(list)
  await page.getByText('Connect your first device').first().waitFor()
  expect(stage.faults).toEqual([])
})
