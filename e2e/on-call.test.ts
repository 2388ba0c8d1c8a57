import { type CuttingProxy, cuttingProxy } from '@muster/testkit/cutting-proxy'
import { connectDevice } from '@muster/testkit/device'
import { until } from '@muster/testkit/until'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase, firstToken } from './hub-child.ts'
import { addPending } from './pending-devices.ts'
import {
  expectGoodScreen,
  failAction,
  ignoreTimersOf,
  invoke,
  openStage,
  organizationOf,
  passUndoTime,
  type Stage,
  signIn,
  signOut,
} from './people.ts'

const DEVICES = 2_000
const FAILING = 'crane-gw-0412'
const REASON = 'Update to 2.23.0 failed 6 times: no space left on device'
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
/** Minimum height, in pixels, of a target for a thumb. */
const TARGET_PX = 44

let stage: Stage
let page: Page
let project: string
let projectId: string
/** Proxy in front of the hub that can break its connections. */
let proxy: CuttingProxy
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  proxy = resources.use(await cuttingProxy())
  proxy.leadTo(stage.hub.port)
  await changeDatabase(
    stage.hub,
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, first_seen)
     select 'd_' || id, project_id, 'd_pk_' || id, sha256(i::text::bytea), 'gateway-' || lpad(i::text, 4, '0'),
            now() - make_interval(mins => i)
       from project, generate_series(1, ${DEVICES}) i, lateral (select left(translate(md5(i::text), '0', 'z'), 22) as id) as named`,
  )
  const device = resources.use(await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) }))
  page = await stage.signedInPage()
  const organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  projectId = projects[0]!.projectId
  project = `${stage.hub.url}/${organizationId}/projects/${projectId}`
  await invoke(page, 'devices_SetName', { deviceId: device.deviceId as never, name: FAILING })
  await device.invoke('devices_SetProperty', {
    deviceId: device.deviceId,
    name: 'dev.nexigon.ota.status',
    value: {
      state: 'failed',
      currentVersion: '2.22.4',
      targetVersion: '2.23.0',
      failureCount: 6,
      lastError: 'no space left on device',
    },
  })
  await device.invoke('devices_PublishEvents', { deviceId: device.deviceId, events: [lastNight()] })
  await changeDatabase(
    stage.hub,
    `insert into audit_event (event_id, event, actor, data, organization_id, project_id, created_at)
     values ('audit_ev_20261121-0800-CchPwQrB', 'projects_NameChanged', '{"actor":"System"}',
             '{"projectId":"${projectId}","name":"${CHANGED}"}', '${organizationId}', '${projectId}', '${night()}')`,
  )
  for (const name of ['Pier 6', 'Pier 7']) {
    const made = await invoke(page, 'projects_Create', { organizationId: organizationId as never, name })
    const flags = { autoAccept: false }
    await invoke(page, 'projects_CreateDeploymentToken', {
      projectId: made.projectId,
      name: 'factory',
      flags,
    })
    await addPending(stage.hub, name, 20, '185.46.212.34', 'Pending', 5, name)
  }
  // The failing device is the oldest, so that it is on none of the first pages.
  await changeDatabase(
    stage.hub,
    `update device set first_seen = now() - interval '1 year' where device_id = '${device.deviceId}'`,
  )
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

const NIGHTLY = 'Bundle 2.23.0 downloaded'
const CHANGED = 'First project, by night'

/** A time in the last night, 18:00 to 08:00 in local time, as the console counts it. */
function night(): string {
  const now = new Date()
  const today = now.getHours() >= 18 ? 0 : 1
  const evening = new Date(now.getFullYear(), now.getMonth(), now.getDate() - today, 18)
  return new Date(Math.min(evening.getTime() + 8 * 3_600_000, Date.now() - 1_000)).toISOString()
}

/** An event of the last night. */
function lastNight() {
  const emittedAt = night()
  const eventId = `d_ev_${emittedAt.slice(0, 10).replaceAll('-', '')}-${emittedAt.slice(11, 16).replace(':', '')}-17czX8X1`
  return { eventId, severity: 'Info', body: NIGHTLY, attributes: {}, emittedAt }
}

/** Counts the steps of a person: a pressed key, a typed text or a tap. */
function counting() {
  const done: string[] = []
  return {
    done,
    async step(what: string, act: () => Promise<unknown>) {
      await act()
      done.push(what)
    },
  }
}

/** Presses Tab until the element has the focus. */
async function tabTo(on: Page, target: Locator) {
  await target.waitFor()
  for (let presses = 0; presses < 80; presses++) {
    if (await target.evaluate(element => element === element.ownerDocument.activeElement)) return
    await on.keyboard.press('Tab')
  }
  throw new Error(`80 times Tab did not reach ${target}`)
}

/** Targets of a page that are lower than 44 pixels, too small for a thumb, with their size. */
async function smallTargets(on: Page): Promise<string[]> {
  return on.evaluate<string[]>(`
    [...document.querySelectorAll('button, input:not([type=checkbox]), select, aside nav a, .AnchorNav-nav a, .button')].flatMap(element => {
      const { width, height } = element.getBoundingClientRect()
      // Times and copy buttons are inline in text; WCAG 2.5.8 allows such targets to be smaller than the minimum.
      const isInline = element.closest('thead, .moment, .copy') !== null
      const isShown = element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
      if (isInline || !isShown || width <= 1 || height >= ${TARGET_PX}) return []
      return [(element.className || element.tagName) + ' "' + element.textContent + '": ' + width + ' x ' + height]
    })`)
}

it('leads from the sign-in to the failing device among 2,000, its reason and its last night by keys alone', async () => {
  const context = await stage.newContext({ viewport: { width: 1440, height: 1000 } })
  await using keys = await context.newPage()
  const { step, done } = counting()
  await keys.goto(`${stage.hub.url}/login`)
  await step('Tab to Email', () => tabTo(keys, keys.getByLabel('Email')))
  await step('type the address', () => keys.keyboard.type(stage.admin.email))
  await step('Tab', () => tabTo(keys, keys.getByLabel(/^Password/)))
  await step('type the password', () => keys.keyboard.type(stage.admin.password))
  await step('Enter', () => keys.keyboard.press('Enter'))
  await keys.getByRole('link', { name: 'First project' }).waitFor()
  // The hub samples its projects every 5 minutes, and only then the failed update moves the project to the front of the list. So the test
  // tabs to the project instead of opening the first one.
  await step('Tab to the project', () => tabTo(keys, keys.getByRole('link', { name: 'First project' })))
  await step('Enter', () => keys.keyboard.press('Enter'))
  await keys.locator('tr[data-index]').first().waitFor()
  await keys.getByText('Connected, last 24 h').waitFor()
  await step('Tab to "Update failed"', () =>
    tabTo(keys, keys.getByRole('button', { name: /^Update failed/ })),
  )
  await step('Enter', () => keys.keyboard.press('Enter'))
  await keys.getByRole('link', { name: FAILING, exact: true }).waitFor()
  await until('the other devices are gone', async () => (await keys.locator('tr[data-index]').count()) === 1)
  await step('j', () => keys.keyboard.press('j'))
  await step('Enter', () => keys.keyboard.press('Enter'))
  await keys.locator('.problem-box').getByRole('heading', { name: REASON }).waitFor()
  expect(done).toHaveLength(11)
  await step('Tab to "What happened"', () =>
    tabTo(keys, keys.getByRole('link', { name: 'What happened', exact: true })),
  )
  await step('Enter', () => keys.keyboard.press('Enter'))
  await step('Tab to "Last night"', () => tabTo(keys, keys.getByRole('button', { name: 'Last night' })))
  await step('Enter', () => keys.keyboard.press('Enter'))
  await keys.waitForURL(/range=night/)
  await keys.locator('.TimelineRow-row').getByText(NIGHTLY).waitFor()
  expect(done).toHaveLength(15)

  // Opens the audit log of the project with the changes of that night.
  await step('Control+k', () => keys.keyboard.press('Control+k'))
  await keys.getByRole('combobox', { name: 'Jump to' }).waitFor()
  await step('type the name of the page', () => keys.keyboard.type('audit log'))
  await keys.getByRole('option', { name: 'Audit Log' }).first().waitFor()
  await step('Enter', () => keys.keyboard.press('Enter'))
  await keys.getByRole('heading', { level: 1, name: 'Audit Log' }).waitFor()
  await step('f', () => keys.keyboard.press('f'))
  await step('Tab to "Last night"', () => tabTo(keys, keys.getByRole('button', { name: /^Last night/ })))
  await step('Enter', () => keys.keyboard.press('Enter'))
  await step('Tab to "Apply"', () => tabTo(keys, keys.getByRole('button', { name: 'Apply' })))
  await step('Enter', () => keys.keyboard.press('Enter'))
  await keys.waitForURL(/[?&]from=/)
  await keys.getByRole('row').filter({ hasText: CHANGED }).waitFor()
  expect(done).toHaveLength(23)
  await context.close()
})

it('leads to the failing device by touch alone, with the first device on the first screen and targets for thumbs', async () => {
  const context = await stage.newContext(PHONE)
  await using phone = await context.newPage()
  const { step, done } = counting()
  const tap = (what: string, target: Locator) => step(`tap ${what}`, () => target.tap())
  await phone.goto(`${stage.hub.url}/login`)
  await tap('Email', phone.getByLabel('Email'))
  await step('type the address', () => phone.keyboard.type(stage.admin.email))
  await tap('Password', phone.getByLabel(/^Password/))
  await step('type the password', () => phone.keyboard.type(stage.admin.password))
  expect(await smallTargets(phone)).toEqual([])
  await tap('Log in', phone.getByRole('button', { name: 'Log in' }))
  await phone.getByRole('link', { name: 'First project' }).waitFor()
  expect(await smallTargets(phone)).toEqual([])
  await tap('the project', phone.getByRole('link', { name: 'First project' }))
  const first = phone.locator('tr[data-index]').first()
  await first.waitFor()
  await until('the counts are there', async () =>
    (await phone.getByRole('heading', { level: 1 }).locator('..').textContent())?.includes('2,001'),
  )
  const box = (await first.boundingBox())!
  expect(box.height).toBe(64)
  expect(box.y + box.height).toBeLessThanOrEqual(PHONE.viewport.height)
  expect(await smallTargets(phone)).toEqual([])
  const failed = phone.getByRole('button', { name: /^Update failed/ })
  await tap('"Update failed"', failed)
  const found = phone.getByRole('link', { name: FAILING, exact: true })
  await found.waitFor()
  // The selected filter is entirely within the viewport.
  const chosen = (await failed.boundingBox())!
  expect(chosen.x).toBeGreaterThanOrEqual(0)
  expect(chosen.x + chosen.width).toBeLessThanOrEqual(PHONE.viewport.width)
  await tap('the device', found)
  const reason = phone.locator('.problem-box').getByRole('heading', { name: REASON })
  await reason.waitFor()
  expect((await phone.locator('.problem-box').boundingBox())!.y).toBeLessThan(PHONE.viewport.height / 2)
  expect(await smallTargets(phone)).toEqual([])
  expect(done).toHaveLength(8)
  await tap('"What happened"', phone.getByRole('link', { name: 'What happened', exact: true }))
  const preset = phone.getByRole('button', { name: 'Last night' })
  await tap('"Last night"', preset)
  await phone.waitForURL(/range=night/)
  await phone.locator('.TimelineRow-row').getByText(NIGHTLY).waitFor()
  const range = (await preset.boundingBox())!
  expect(range.x).toBeGreaterThanOrEqual(0)
  expect(range.x + range.width).toBeLessThanOrEqual(PHONE.viewport.width)
  expect(await smallTargets(phone)).toEqual([])
  expect(done).toHaveLength(10)

  await tap('"Audit Log"', phone.getByRole('link', { name: 'Audit Log' }).first())
  await tap('"Time"', phone.getByRole('button', { name: /^Time/ }))
  await tap('"Last night"', phone.getByRole('button', { name: /^Last night/ }))
  await tap('"Apply"', phone.getByRole('button', { name: 'Apply' }))
  await phone.waitForURL(/[?&]from=/)
  await phone.getByRole('row').filter({ hasText: CHANGED }).waitFor()
  expect(await smallTargets(phone)).toEqual([])
  expect(done).toHaveLength(14)
  await context.close()
})

it('accepts 20 devices of a project in 6 steps by keys alone, and in 3 by touch alone', async () => {
  const keyContext = await stage.newContext({ viewport: { width: 1440, height: 1000 } })
  const keys = await keyContext.newPage()
  await signIn(keys, stage, stage.admin)
  await keys.getByRole('link', { name: 'Pier 6' }).click()
  await keys.getByRole('link', { name: 'Review pending certificates' }).waitFor()
  const byKeys = counting()
  const tabAndPress = async (what: string, target: Locator, key: string) => {
    await byKeys.step(`Tab to ${what}`, () => tabTo(keys, target))
    await byKeys.step(key, () => keys.keyboard.press(key))
  }
  await tabAndPress('Review', keys.getByRole('link', { name: 'Review pending certificates' }), 'Enter')
  await tabAndPress('the group', keys.getByRole('checkbox', { name: 'Select 20 new devices' }), 'Space')
  await keys.getByRole('button', { name: 'Accept 20' }).waitFor()
  await byKeys.step('a', () => keys.keyboard.press('a'))
  await byKeys.step('Enter', () => keys.keyboard.press('Enter'))
  await keys.getByRole('heading', { level: 2, name: /^20 accepted/ }).waitFor()
  expect(byKeys.done).toHaveLength(6)
  await keyContext.close()

  const phoneContext = await stage.newContext(PHONE)
  const phone = await phoneContext.newPage()
  await signIn(phone, stage, stage.admin)
  await phone.getByRole('link', { name: 'Pier 7' }).tap()
  const { step, done } = counting()
  const tap = (what: string, target: Locator) => step(`tap ${what}`, () => target.tap())
  await tap('Review', phone.getByRole('link', { name: 'Review pending certificates' }))
  const group = phone.getByRole('checkbox', { name: 'Select 20 new devices' })
  await group.waitFor()
  expect(await smallTargets(phone)).toEqual([])
  await tap('the group', group)
  await tap('Accept 20', phone.getByRole('button', { name: 'Accept 20' }))
  await phone.getByRole('heading', { level: 2, name: /^20 accepted/ }).waitFor()
  expect(await smallTargets(phone)).toEqual([])
  expect(done).toHaveLength(3)
  await phoneContext.close()
})

it('says that the hub is silent, and how old the page is, until the hub is back', async () => {
  await page.goto(`${project}/devices`)
  await page.locator('tr[data-index]').first().waitFor()
  // A stopped process keeps its connections open and sends nothing.
  stage.hub.kill('SIGSTOP')
  try {
    await page.getByText(/^Connection to the hub lost at \d\d:\d\d:\d\d\.$/).waitFor()
    await page.getByText(/It is \d+ s old\. (Next try in \d+ s|Trying now), the \d+(st|nd|rd|th)\./).waitFor()
    // While the hub cannot be reached, a button that needs the hub is inactive and shows the reason.
    const refresh = page.getByRole('button', { name: 'Refresh' })
    expect(await refresh.getAttribute('aria-disabled')).toBe('true')
    expect(await refresh.getAttribute('data-tip')).toBe('The hub cannot be reached.')
  } finally {
    stage.hub.kill('SIGCONT')
  }
  await page.getByText(/^Connected again\. Updated \d\d:\d\d:\d\d\.$/).waitFor()
})

it('sends a waiting deletion when its tab is closed', async () => {
  const tab = await page.context().newPage()
  const deviceId = await deleteDevice(tab, 'gateway-0002')
  await tab.close({ runBeforeUnload: true })
  await until('the device is deleted', async () => !(await exists(deviceId)))
})

it('sends nothing if the page wakes more than 60 s after the click, and brings the row back', async () => {
  const tab = await page.context().newPage()
  await tab.clock.install()
  const deviceId = await deleteDevice(tab, 'gateway-0003')
  const sent: string[] = []
  tab.on('request', request => sent.push(request.url()))
  // Simulates a machine that slept: the timers run late, and only once.
  await tab.clock.fastForward(61_000)
  await tab
    .getByRole('row')
    .getByText(/^Not deleted: The page slept for more than a minute after the click\. Nothing was sent\.$/)
    .waitFor()
  await tab.getByRole('link', { name: 'gateway-0003', exact: true }).waitFor()
  expect(sent.filter(url => url.endsWith('/devices_Delete'))).toEqual([])
  expect(await exists(deviceId)).toBe(true)
  await tab.close()
})

it('goes to the row of a deletion, or shows a notice if it is not loaded, and takes both back by the key z', async () => {
  const tab = await page.context().newPage()
  // Undo and leaving the list work without the timer of 10 s, which a busy machine may exceed here.
  await ignoreTimersOf(tab, 10_000)
  // The list shows no rows before its stored columns are known. The hub's answer with the devices may come earlier.
  await tab.route('**/invoke/users_GetView', async route => {
    await new Promise(later => setTimeout(later, 700))
    await route.continue()
  })
  await deleteDevice(tab, 'gateway-0030')
  const row = tab.getByRole('row').filter({ hasText: 'gateway-0030' })
  await until('the row is in view', async () => {
    const { y } = (await row.boundingBox())!
    return y > 0 && y < 1_000
  })
  await tab.keyboard.press('z')
  await tab.getByRole('link', { name: 'gateway-0030', exact: true }).waitFor()
  const deviceId = await deleteDevice(tab, 'gateway-1999')
  const notice = tab.getByRole('region', { name: 'Deletions' })
  await notice.getByText('gateway-1999', { exact: true }).waitFor()
  await tab.keyboard.press('z')
  await notice.waitFor({ state: 'detached' })
  // The key z has cancelled the deletion. Otherwise the console would send it when the user leaves the list.
  await tab.goto(`${project}/tokens`)
  await tab.getByRole('heading', { level: 1, name: 'Tokens' }).waitFor()
  expect(await exists(deviceId)).toBe(true)
  await tab.close()
})

it('shows in a notice why the hub refused a deletion whose row is not loaded', async () => {
  const tab = await page.context().newPage()
  await tab.clock.install()
  await failAction(tab, 'devices_Delete', 'The disk is full.')
  await deleteDevice(tab, 'gateway-1999')
  await passUndoTime(tab)
  await tab
    .getByRole('region', { name: 'Deletions' })
    .getByText(/^Not deleted: The disk is full\.$/)
    .waitFor()
  await expectGoodScreen(tab, 'devices-not-deleted-notice')
  await tab.close()
})

it('shows the last device counts instead of a page that fails to load, until the session ends', async () => {
  const context = await stage.newContext({ ...PHONE, hasTouch: false, serviceWorkers: 'allow' })
  await using installed = await context.newPage()
  const through = { hub: { ...stage.hub, url: proxy.url } }
  await signIn(installed, through, stage.admin)
  await installed.getByRole('link', { name: 'First project' }).click()
  await installed.locator('tr[data-index]').first().waitFor()
  await installed.evaluate('navigator.serviceWorker.ready.then(() => undefined)')
  await until('the counts are stored', () =>
    installed.evaluate<boolean>(`(localStorage.getItem('muster.counts') ?? '').includes('First project')`),
  )
  const devtools = await context.newCDPSession(installed)
  expect(await devtools.send('Page.getInstallabilityErrors')).toEqual({ installabilityErrors: [] })
  // The service worker stores the offline page and nothing else.
  const stored = await installed.evaluate<string[]>(`(async () => {
    const requests = []
    for (const name of await caches.keys()) requests.push(...(await (await caches.open(name)).keys()))
    return requests.map(({ url }) => new URL(url).pathname)
  })()`)
  expect(stored).toEqual(['/offline.html'])

  proxy.down(true)
  await installed.reload()
  await installed.getByRole('heading', { level: 1, name: 'The hub cannot be reached' }).waitFor()
  await installed.getByText(/^This device has a network, but 127\.0\.0\.1:\d+ does not answer\./).waitFor()
  await installed.getByRole('heading', { name: /^Last known, \d\d:\d\d today$/ }).waitFor()
  await installed.getByText('Not live', { exact: true }).waitFor()
  await installed.getByText(/^[01] of [12],\d{3} connected$/).waitFor()
  await installed.getByText(/^Next try in \d+ s$/).waitFor()
  await expectGoodScreen(installed, 'offline')

  // The page loads again without a click.
  proxy.down(false)
  await installed.locator('tr[data-index]').first().waitFor()
  await signOut(installed)
  proxy.down(true)
  await installed.reload()
  await installed.getByRole('heading', { level: 1, name: 'The hub cannot be reached' }).waitFor()
  expect(await installed.getByText(/of [\d,]+ connected/).count()).toBe(0)
  expect(await installed.evaluate('localStorage.getItem("muster.counts")')).toBe(null)
  proxy.down(false)
  await installed.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  await context.close()
})

it('has no faults in its pages', () => {
  expect(stage.faults).toEqual([])
})

/** Clicks Delete Device on the page of the device with this name. Resolves to the device's id while the deletion can still be undone. */
async function deleteDevice(on: Page, name: string): Promise<string> {
  const { devices } = await invoke(page, 'projects_QueryDevices', {
    projectId: projectId as never,
    filter: { text: name },
    limit: 1,
  })
  const { deviceId } = devices[0]!
  await on.goto(`${project}/devices/${deviceId}`)
  await on.getByRole('button', { name: 'Delete Device' }).click()
  await on
    .getByText(/Deleting in \d+ s\./)
    .first()
    .waitFor()
  return deviceId
}

async function exists(deviceId: string): Promise<boolean> {
  const answer = await invoke(page, 'devices_GetDetails', { deviceId: deviceId as never }).catch(
    () => undefined,
  )
  return answer !== undefined
}
