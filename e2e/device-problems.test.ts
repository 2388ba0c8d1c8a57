import { newDatedId } from '@muster/actions'
import { connectDevice, type FakeDevice } from '@muster/testkit/device'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase, firstToken } from './hub-child.ts'
import {
  expectGoodMenu,
  expectGoodScreen,
  failAction,
  invoke,
  openStage,
  organizationOf,
  passUndoTime,
  type Stage,
  signOut,
  startSession,
} from './people.ts'

let stage: Stage
let page: Page
let device: FakeDevice
let list: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  page = await stage.signedInPage()
  const organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  list = `${stage.hub.url}/${organizationId}/projects/${projects[0]!.projectId}/devices`
  device = resources.use(await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) }))
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

/** Sets a property as the device. */
function report(name: string, value: unknown): Promise<unknown> {
  return device.invoke('devices_SetProperty', { deviceId: device.deviceId, name, value })
}

/** Adds a version with one file to a new package, and returns the path of its stable tag. */
async function addVersion(name: string, sizeBytes: number): Promise<string> {
  const organizationId = new URL(list).pathname.split('/')[1]!
  const repository = await invoke(page, 'repositories_Create', { organizationId, name: 'nordwind' })
  if (repository.result !== 'Created') throw new Error(repository.result)
  const { repositoryId } = repository
  const made = await invoke(page, 'repositories_CreatePackage', { repositoryId, name: 'gateway-os' })
  if (made.result !== 'Created') throw new Error(made.result)
  const { versionId } = await invoke(page, 'repositories_CreateVersion', {
    packageId: made.packageId,
    name,
    tags: [{ tag: name }, { tag: 'stable' }],
  })
  const assetId = `repo_a_${'B'.repeat(22)}`
  await changeDatabase(
    stage.hub,
    `insert into asset (asset_id, repository_id, size_bytes, digest, status)
     values ('${assetId}', '${repositoryId}', ${sizeBytes}, 'sha256:' || repeat('b', 64), 'Available')`,
  )
  await changeDatabase(
    stage.hub,
    `insert into version_asset (version_id, filename, asset_id) values ('${versionId}', 'gateway-os.rugixb', '${assetId}')`,
  )
  return 'nordwind/gateway-os/stable'
}

const problem = () => page.locator('.problem-box')

it('shows no problem box while nothing is wrong', async () => {
  await report('dev.nexigon.system.health', { status: 'healthy' })
  await report('dev.nexigon.ota.status', { state: 'completed', currentVersion: '2.22.4' })
  await page.goto(`${list}/${device.deviceId}`)
  await page.getByText('2.22.4').first().waitFor()
  await page.getByText('Nothing is wrong.').waitFor()
  expect(await problem().count()).toBe(0)
})

it('says as a sentence what is wrong, since when, and what to do next, as the device reports it', async () => {
  const path = await addVersion('2.23.0', 333_866_598)
  for (const failureCount of [1, 2]) {
    await report('dev.nexigon.ota.status', {
      config: { path },
      state: 'installing',
      targetVersion: '2.23.0',
      failureCount: failureCount - 1,
    })
    await report('dev.nexigon.ota.status', {
      config: { path },
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
  await problem().getByText('The bundle needs 318.4 MiB and /data has 41.2 MiB free.').waitFor()
  await problem().getByText('/data is 92 % full.').waitFor()
  await expect.poll(() => problem().innerText()).toMatch(/First today, \d\d:\d\d, last today, \d\d:\d\d\./)
  await report('dev.nexigon.system.health', { status: 'degraded' })
  await problem()
    .getByText(/^Health: degraded since \d\d:\d\d$/)
    .waitFor()
  await problem()
    .getByText(/Reported by the device, \d+ (s|min) after the last failed update\./)
    .waitFor()
  await page.locator('.EntityHead-head').getByText('Warning', { exact: true }).waitFor()
  await page.getByText('The device still runs 2.22.4.').waitFor()
  const attempts = page.getByRole('table', { name: 'Attempts at 2.23.0' })
  await expect.poll(() => attempts.getByRole('row').count()).toBe(3)
  await expectGoodScreen(page, 'device-problem')
  await problem().getByRole('link', { name: 'See the disks' }).click()
  await expect.poll(() => new URL(page.url()).hash).toBe('#disks')
  // C31: the bar of a disk is its used space, amber below 15 % of free space.
  const barOf = async (mountPoint: string) => {
    const bar = page.locator('#disks tr').filter({ hasText: mountPoint }).locator('[style*="--share"]')
    return [await bar.getAttribute('style'), await bar.locator('..').getAttribute('data-tone')]
  }
  expect(await barOf('/data')).toEqual([expect.stringMatching(/^--share: ?91\.9/), 'warn'])
  expect(await barOf('/dev/mmcblk0p3')).toEqual([expect.stringMatching(/^--share: ?40/), null])
  // A problem that has ended stays visible for a while.
  await report('dev.nexigon.system.health', { status: 'healthy' })
  await problem()
    .getByText(/^Ended at \d\d:\d\d\./)
    .waitFor()
  await page.locator('.EntityHead-head').getByText('Warning', { exact: true }).waitFor({ state: 'detached' })
  await expectGoodScreen(page, 'device-problem-ended')
  await report('dev.nexigon.system.health', { status: 'degraded' })
  await problem()
    .getByText(/^Ended at/)
    .waitFor({ state: 'detached' })
  await problem().getByRole('link', { name: 'Open 2.23.0' }).click()
  await page.waitForURL(/\/packages\/pkg_\w+\/versions\/pkg_v_\w+$/)
})

it('has its actions in a menu, on phones with the web pages of the device', async () => {
  await page.goto(`${list}/${device.deviceId}`)
  const menu = page.getByRole('button', { name: 'More actions' })
  await expectGoodMenu(page, 'device', async () => {
    await menu.click()
    await page.getByRole('menuitem', { name: 'Delete Device' }).waitFor()
  })
  await menu.click()
  await page.getByRole('menuitem', { name: 'Delete Device' }).waitFor()
  expect(await page.getByRole('menuitem', { name: 'HTTP Proxy' }).count()).toBe(0)
  await page.getByRole('menuitem', { name: 'Rename' }).click()
  await page.locator('input:focus[placeholder="New name"]').waitFor()
  // Loads the page again. The present page may still be scrolling to the focused field, which would close the menu that is opened next.
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto('about:blank')
  await page.goto(`${list}/${device.deviceId}`)
  await page.locator('.EntityHead-head').getByText('Connected', { exact: true }).waitFor()
  expect(await page.locator('.EntityHead-head').getByRole('button', { name: 'HTTP Proxy' }).count()).toBe(0)
  // The `resize` event arrives with the next frame and closes an open menu. So the test waits for two frames before it opens the menu.
  await page.evaluate('new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)))')
  await menu.click()
  await page.getByRole('menuitem', { name: 'HTTP Proxy' }).waitFor()
  await page.keyboard.press('Escape')
  await page.setViewportSize({ width: 1440, height: 1000 })
})

const entries = () => page.locator('.TimelineRow-text').allInnerTexts()

it('shows what happened in one list with filters, links to entries and new entries as they come', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await invoke(page, 'devices_SetProperty', {
    deviceId: device.deviceId,
    name: 'app.crane.wind_limit_ms',
    value: 16,
  })
  await page.goto(`${list}/${device.deviceId}`)
  await page.getByRole('link', { name: 'What happened', exact: true }).click()
  const failure = 'Update to 2.23.0 failed'
  await expect.poll(entries).toContainEqual(expect.stringContaining('set app.crane.wind_limit_ms to 16'))
  const shown = await entries()
  expect(shown.filter(text => text.startsWith(failure))).toHaveLength(2)
  expect(shown).toContain('Health went from healthy to degraded')
  expect(shown).toContain('2.22.4 installed')
  // The beginning of an update has no row of its own: the row of the update's result shows it.
  expect(shown.some(text => text.startsWith('Installing'))).toBe(false)
  expect(shown.at(-1)).toMatch(/^Enrolled as a new device|^Connected to /)

  const latest = page.locator('.TimelineRow-row').filter({ hasText: 'attempt 2: no space left on device' })
  await latest.getByRole('button', { name: /^Details/ }).click()
  await latest.getByText('"failureCount":2').waitFor()
  await latest.getByText('Installing since').waitFor()
  await expectGoodScreen(page, 'device-timeline')
  await latest.getByRole('button', { name: 'Copy Link' }).click()
  await page.getByText('Link copied.').waitFor()
  const link = String(await page.evaluate('navigator.clipboard.readText()'))

  await page.getByRole('button', { name: 'People', exact: true }).click()
  await expect.poll(entries).toEqual([expect.stringMatching(/set app\.crane\.wind_limit_ms to 16$/)])
  await invoke(page, 'devices_SetName', { deviceId: device.deviceId, name: 'crane <b>مرحبا</b>' })
  await expect.poll(entries).toHaveLength(2)
  expect((await entries())[0]).toMatch(/renamed the device to crane <b>مرحبا<\/b>$/)
  await invoke(page, 'devices_SetName', { deviceId: device.deviceId, name: '' })
  await page.getByRole('button', { name: 'All', exact: true }).click()
  await page.getByLabel('Warnings and errors only').check()
  await expect.poll(entries).not.toContain('2.22.4 installed')
  await page.getByLabel('Search what happened').fill('no such thing')
  await page.getByText('Nothing matches this filter.').waitFor()
  await expectGoodScreen(page, 'device-timeline-empty')

  await page.goto(link)
  await page.locator('.TimelineRow-open').getByText('Installing since').waitFor()
})

it('lists all events by severity, category, text and time', async () => {
  const event = (
    severity: string,
    category: string,
    body: unknown,
    emittedAt = new Date().toISOString(),
  ) => ({
    eventId: newDatedId('d_ev'),
    severity,
    category,
    body,
    attributes: { run: 7 },
    emittedAt,
  })
  const secondsAgo = (secs: number) => new Date(Date.now() - secs * 1000).toISOString()
  const tenDaysAgo = secondsAgo(10 * 86_400).slice(0, 10)
  await device.invoke('devices_PublishEvents', {
    deviceId: device.deviceId,
    events: [
      event('Debug', 'system', 'Snapshot sent', secondsAgo(3)),
      event('Warning', 'system', { message: 'Log rotation skipped' }, secondsAgo(2)),
      event('Error', 'ota', 'Grüße an 世界'),
      event('Info', 'clock', 'Started without time', '1970-01-01T00:00:04Z'),
      event('Info', 'system', 'Unpacked', secondsAgo(20 * 86_400)),
    ],
  })
  await page.goto(`${list}/${device.deviceId}`)
  await page.locator('#ev').getByRole('link', { name: 'All events' }).click()
  // The clock of the device was wrong, so the event stands at the time of its receipt (D3).
  const withoutTime = expect.stringMatching(/^Started without time · device clock wrong by \d+ years$/)
  await expect.poll(entries).toEqual([withoutTime, 'Grüße an 世界', 'Log rotation skipped', 'Snapshot sent'])
  await page.getByRole('button', { name: 'Warning and above' }).click()
  await expect.poll(entries).toEqual(['Grüße an 世界', 'Log rotation skipped'])
  await page.getByLabel('Filter by category').fill('system')
  await expect.poll(entries).toEqual(['Log rotation skipped'])
  await page.getByRole('button', { name: 'All', exact: true }).click()
  await page.getByLabel('Filter by category').fill('')
  await page.getByLabel('Search events').fill('世界')
  await expect.poll(entries).toEqual(['Grüße an 世界'])
  await page.getByLabel('Search events').fill('')
  await page.getByRole('button', { name: 'Everything' }).click()
  await expect.poll(entries).toContainEqual(withoutTime)
  await page
    .getByRole('button', { name: /^Details/ })
    .first()
    .click()
  await page.getByText('Clock of the device').waitFor()
  await expectGoodScreen(page, 'device-events')
  await page.getByRole('button', { name: 'Between…' }).click()
  await page.getByRole('dialog').getByLabel(/^From/).fill(`${tenDaysAgo}T10:00`)
  await page.getByRole('dialog').getByLabel(/^To/).fill(`${tenDaysAgo}T09:00`)
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('The end must be after the beginning.').waitFor()
  await expectGoodScreen(page, 'device-between')
  await page.getByRole('dialog').getByLabel(/^To/).fill(`${tenDaysAgo}T11:00`)
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('Nothing happened in this time.').waitFor()
  await page.getByText('The nearest time when something happened is').waitFor()
  await page.getByRole('link', { name: 'See it' }).click()
  await page.getByRole('heading', { level: 1, name: 'What happened' }).waitFor()
})

it('draws updates and changes by people beside the connection, in three ranges', async () => {
  await page.goto(`${list}/${device.deviceId}`)
  const connection = page.getByRole('region', { name: 'Connection', exact: true })
  // The problem began today, so the section opens on 24 hours.
  await connection.getByRole('button', { name: '24 h', pressed: true }).waitFor()
  await connection.getByRole('list', { name: 'Updates' }).getByRole('link').first().waitFor()
  await connection.getByRole('list', { name: 'Changes' }).getByRole('link').first().waitFor()
  await connection.getByRole('button', { name: '30 d' }).click()
  await connection.getByRole('button', { name: '30 d', pressed: true }).waitFor()
  // The button is painted before the address follows.
  await expect.poll(() => new URL(page.url()).searchParams.get('connection')).toBe('30d')
  await expectGoodScreen(page, 'device-connection')
  await connection.getByRole('list', { name: 'Updates' }).getByRole('link').last().click()
  await page.getByRole('heading', { level: 1, name: 'What happened' }).waitFor()
})

it('edits a property in place, refuses what is no JSON, and asks when the value changed meanwhile', async () => {
  await report('app.mode', 'manual')
  await page.goto(`${list}/${device.deviceId}`)
  await page.getByRole('button', { name: 'Edit app.mode' }).click()
  const field = page.getByLabel('Value of app.mode as JSON')
  await expect.poll(() => field.inputValue()).toBe('"manual"')
  await field.fill('{ "a": 1')
  await page.keyboard.press('Control+Enter')
  await page.getByText('This is not JSON: missing } at column 9.').waitFor()
  await expectGoodScreen(page, 'property-edit')
  await field.fill('12345678901234567890')
  await report('app.mode', 'automatic')
  await page.getByRole('button', { name: 'Save Value' }).click()
  await page.getByText('The value became "automatic" while you were typing.').waitFor()
  await expectGoodScreen(page, 'property-conflict')
  await page.getByRole('button', { name: 'Save Anyway' }).click()
  const row = page.locator('.properties-row').filter({ hasText: 'app.mode' })
  await row.locator('pre').getByText('12345678901234567890', { exact: true }).waitFor()
  await expect.poll(() => row.locator('.properties-by').innerText()).toBe('Administrator')

  await page.getByRole('button', { name: 'Set Property' }).click()
  await page.getByRole('dialog').getByLabel(/^Key/).fill('app.site')
  await page
    .getByRole('dialog')
    .getByLabel(/^Value as JSON/)
    .fill('"Pier 3"')
  await expectGoodScreen(page, 'property-new')
  await page.getByRole('dialog').getByRole('button', { name: 'Set Property' }).click()
  await page.locator('.properties-row').filter({ hasText: 'app.site' }).getByText('"Pier 3"').waitFor()
})

it('pins properties above the list for one person, and takes keys in the focused row', async () => {
  await page.goto(`${list}/${device.deviceId}`)
  await Promise.all([
    page.waitForResponse('**/projects_SetPins'),
    page.getByRole('button', { name: 'Pin app.mode' }).click(),
  ])
  await page.getByRole('heading', { name: 'Pinned' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Pinned' }).waitFor()
  await page.getByRole('heading', { name: 'By key' }).waitFor()
  expect(await page.getByRole('button', { name: 'Edit app.mode' }).count()).toBe(2)
  await expectGoodScreen(page, 'property-pinned')
  await page.getByRole('button', { name: 'Unpin app.mode' }).first().focus()
  await page.keyboard.press('h')
  await page.locator('.properties-past').getByText('current').waitFor()
  await page.keyboard.press('h')
  await page.keyboard.press('p')
  await page.getByRole('heading', { name: 'Pinned' }).waitFor({ state: 'detached' })
})

it('finds a property among 500 by key and by value', async () => {
  await changeDatabase(
    stage.hub,
    `insert into device_property (device_id, name, value, value_json)
     select '${device.deviceId}', 'many.' || n, to_json('value of ' || n), to_jsonb('value of ' || n) from generate_series(1, 500) n`,
  )
  await page.goto(`${list}/${device.deviceId}`)
  await page
    .locator('#props')
    .getByText(/^50\d$/)
    .waitFor()
  await page.getByLabel('Search keys and values').fill('VALUE OF 499')
  await page.locator('.properties-row').filter({ hasText: 'many.499' }).waitFor()
  expect(await page.locator('.properties-row').count()).toBe(1)
  await changeDatabase(stage.hub, `delete from device_property where name like 'many.%'`)
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

it('D5, D6: offers the port, protocol and path to which the page of a device leads', async () => {
  await report('dev.nexigon.system.info', {
    exports: [{ protocol: 'https', name: 'Secure HMI', port: 8443, path: '/ui' }],
  })
  await page.goto(`${list}/${device.deviceId}?port=3000&protocol=https&path=%2Fgrafana%3Fx%3D1#web`)
  const proxy = page.locator('#web')
  await expect.poll(() => proxy.getByLabel('Another port').inputValue()).toBe('3000')
  expect(await proxy.getByLabel('This port speaks HTTPS').isChecked()).toBe(true)
  await proxy.getByText('/grafana?x=1', { exact: true }).waitFor()
  await proxy.getByText('The certificate of the device is not verified with HTTPS.').waitFor()
  await expectGoodScreen(page, 'device-proxy-offer')
  const opened = async (button: string | RegExp) => {
    const [window, asked, shown] = await Promise.all([
      page.waitForEvent('popup'),
      page.waitForRequest('**/invoke/devices_IssueHttpProxyToken'),
      page.context().waitForEvent('request', request => request.url().includes('muster_token=')),
      proxy.getByRole('button', { name: button, exact: true }).click(),
    ])
    const { pathname, searchParams } = new URL(shown.url())
    await window.close()
    const { port, protocol } = asked.postDataJSON() as { port: number; protocol: string }
    return { port, protocol, pathname, x: searchParams.get('x') }
  }
  expect(await opened('Open')).toEqual({ port: 3000, protocol: 'https', pathname: '/grafana', x: '1' })
  expect(await opened(/^Secure HMI/)).toEqual({ port: 8443, protocol: 'https', pathname: '/ui', x: null })
  // Another port has nothing to do with the offered path, and the person may choose plain HTTP.
  await proxy.getByLabel('Another port').fill('3001')
  await proxy.getByLabel('This port speaks HTTPS').uncheck()
  expect(await opened('Open')).toEqual({ port: 3001, protocol: 'http', pathname: '/', x: null })
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
  const status = page.locator('.columns-devices .status')
  await expect.poll(() => status.innerText()).toMatch(/^Connected\s+·\s+Warning$/)
  await report('dev.nexigon.system.health', { status: 'error' })
  await expect.poll(() => status.innerText()).toMatch(/^Connected\s+·\s+Error$/)
  await expectGoodScreen(page, 'devices-health')
  await page.getByRole('button', { name: 'Warning', exact: true }).click()
  await page.getByText('No devices match this filter.').waitFor()
  // A preset and a health apply together.
  await page.getByRole('button', { name: 'Update failed', exact: true }).click()
  await page.getByText('Without health Warning').waitFor()
  await page.getByRole('button', { name: 'Any health', exact: true }).click()
  await status.waitFor()
  expect(new URL(page.url()).searchParams.get('show')).toBe('updateFailed')
  await page.goto(list.replace(/\/projects\/.*/, '/projects'))
  await page.getByRole('link', { name: '1 error' }).waitFor()
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
  // A link covers the whole cell. Without `force`, Playwright would wait until the cell itself can receive the click.
  await page.locator('.columns-devices td.columns-pending').click({ force: true })
  await page.waitForURL(`${list}/${device.deviceId}`)
})

it('says why the hub refused a device that is not connected', async () => {
  await device[Symbol.asyncDispose]()
  await changeDatabase(
    stage.hub,
    `update device set last_refusal_at = now() - interval '3 minutes', last_refusal_since = now() - interval '50 minutes',
       last_refusal_reason = 'certificate is revoked', last_refusal_count = 15`,
  )
  await changeDatabase(
    stage.hub,
    `insert into device_refusals select device_id, jsonb_build_array(jsonb_build_object(
       'at', last_refusal_at, 'reason', last_refusal_reason, 'address', '203.0.113.77')) from device`,
  )
  await page.goto(`${list}/${device.deviceId}`)
  await problem().getByRole('heading', { name: 'Refused 15 times: certificate is revoked' }).waitFor()
  await problem()
    .getByText(/^First .+, last .+ from 203\.0\.113\.77\.$/)
    .waitFor()
  // The box shows the failed update of an earlier test below the refusal.
  await problem()
    .locator('.problem-other')
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
  await page.clock.install()
  const accept = await failAction(page, 'devices_Delete', 'The disk is full.')
  await deleteDevice()
  await expectGoodScreen(page, 'device-deleting')
  await passUndoTime(page)
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
  await startSession(page, stage)
  await page.goto(list)
  await page.getByText('Connect your first device').first().waitFor()
  expect(stage.faults).toEqual([])
})
