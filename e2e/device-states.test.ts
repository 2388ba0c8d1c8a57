import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import {
  allowClipboard,
  expectGoodScreen,
  failAction,
  ignoreTimersOf,
  invoke,
  openStage,
  organizationOf,
  type Stage,
} from './people.ts'

/** An integer with more digits than a double can represent. */
const SERIAL = '12345678901234567890'
const DEVICE = `d_${'D'.repeat(22)}`
const CERTIFICATE = `d_c_${'C'.repeat(22)}`

let stage: Stage
let page: Page
let organizationId: string
let project: string
let address: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  page = await stage.signedInPage({ prepare: allowClipboard })
  organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  project = `${stage.hub.url}/${organizationId}/projects/${projects[0]!.projectId}`
  address = `${project}/devices/${DEVICE}`
  await changeDatabase(
    stage.hub,
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name)
     select '${DEVICE}', project_id, 'd_pk_${'D'.repeat(22)}', sha256('D'), 'crane-gw-01' from project`,
  )
  // Adds 15 properties and 14 connections, so that the page is long enough to scroll a linked section to the top.
  for (let n = 1; n <= 15; n++) await set(`crane.limit-${n}`, String(n))
  for (let n = 1; n <= 14; n++)
    await changeDatabase(
      stage.hub,
      `insert into device_connection
       values ('d_conn_${String(n + 10)
         .repeat(11)
         .replaceAll(
           '0',
           'z',
         )}', '${DEVICE}', 'cluster_node_${'N'.repeat(22)}', 'deployment_id_${'T'.repeat(22)}',
               '${CERTIFICATE}', now() - interval '${n} hours', now() - interval '${n} hours' + interval '50 minutes', 'Disconnected')`,
    )
})

beforeEach(async () => {
  page = await stage.signedInPage({ prepare: allowClipboard })
})

afterAll(() => resources.disposeAsync())

it('shows and copies numbers exactly as the device wrote them', async () => {
  await set('crane.serial', SERIAL)
  await set('crane.parts', `{"serials":[${SERIAL},0.1234567890123456789,1e400],"count":2}`)
  await page.goto(address)
  const row = (name: string) => page.locator('.properties-row').filter({ hasText: name })
  await row('crane.serial').locator('pre').getByText(SERIAL, { exact: true }).waitFor()
  expect(await row('crane.parts').locator('pre').innerText()).toBe(
    `{ "serials": [${SERIAL}, 0.1234567890123456789, 1e400], "count": 2 }`,
  )
  await page.getByRole('button', { name: 'Copy value of crane.parts' }).click()
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain(`${SERIAL},`)
  // The page compares the next answer with the shown one. That comparison must also work for integers beyond the precision of a
  // double.
  await set('crane.serial', `${SERIAL}1`)
  await row('crane.serial').locator('pre').getByText(`${SERIAL}1`, { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Past values of crane.serial' }).click()
  const past = page.locator('.properties-past pre')
  await past.nth(1).waitFor()
  expect(await past.allInnerTexts()).toEqual([`${SERIAL}1`, SERIAL])
})

it('accepts a certificate once, even if Enter is held down', async () => {
  await changeDatabase(
    stage.hub,
    `insert into device_certificate (certificate_id, device_id, fingerprint, status)
     values ('${CERTIFICATE}', '${DEVICE}', 'AA:BB', 'Pending')`,
  )
  await page.goto(address)
  await page.getByRole('heading', { name: /^This device waits for approval/ }).waitFor()
  await expectGoodScreen(page, 'device-pending')
  await page.locator('#certs').getByRole('button', { name: 'Accept' }).focus()
  for (let held = 0; held < 40; held++) {
    // Pressing a key that is already down produces a repeated key event.
    await page.keyboard.down('Enter')
    await page.waitForTimeout(25)
  }
  await page.keyboard.up('Enter')
  const row = page.locator('#certs tbody tr')
  await row.getByText('Active', { exact: true }).waitFor()
  await page.locator('#certs tr:focus').waitFor()
  await expectGoodScreen(page, 'device-certificate-accepted')
  await row.getByRole('button', { name: 'Revoke' }).click()
  await row.getByText('Revoked', { exact: true }).waitFor()

  // On a phone, a single button is placed beside the first line of its row.
  await page.setViewportSize({ width: 390, height: 844 })
  await expect
    .poll(async () => {
      const remove = (await row.getByRole('button', { name: /^Delete certificate/ }).boundingBox())!
      const id = (await row.locator('.Id-text').boundingBox())!
      return Math.abs(remove.y + remove.height / 2 - (id.y + id.height / 2))
    })
    .toBeLessThan(20)
  await page.setViewportSize({ width: 1440, height: 1000 })
})

it('S7: shows a device with more properties than fit into an answer, and large values on demand', async () => {
  await set('dev.nexigon.ota.status', '{"state":"committing","currentVersion":"1.0"}')
  await changeDatabase(
    stage.hub,
    `insert into device_property (device_id, name, value, value_json)
     select '${DEVICE}', 'crane.large-' || n, to_json(repeat('x', 1000000)), null from generate_series(1, 12) n`,
  )
  await page.goto(address)
  await page.getByText('COMMITTING', { exact: true }).waitFor()
  const row = page.locator('.properties-row').filter({ hasText: 'crane.large-12' })
  await row.scrollIntoViewIfNeeded()
  await expectGoodScreen(page, 'property-cut')
  await row.getByRole('button', { name: 'Show all 976.6 KiB' }).click()
  await row.getByRole('button', { name: 'Show all 1,000,002 characters' }).waitFor()
  await row.getByRole('button', { name: 'Copy value of crane.large-12' }).waitFor()
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
  await changeDatabase(stage.hub, `delete from device_property where name ~ '^crane.large-|^dev.nexigon.ota'`)
})

it('does not change a saved name if Enter is pressed again', async () => {
  await page.goto(address)
  await page.getByPlaceholder('New name').fill('crane-gw-02')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'crane-gw-02' }).waitFor()
  await page.getByText('Device renamed to crane-gw-02.').waitFor()
  expect(await page.getByPlaceholder('New name').inputValue()).toBe('')
  for (let pressed = 0; pressed < 5; pressed++) {
    await page.keyboard.press('Enter')
    await page.waitForTimeout(100)
  }
  await page.waitForTimeout(500)
  expect(await page.evaluate('document.activeElement.textContent')).toBe('crane-gw-02')
})

it('has its sections in the same order in the DOM and on a phone', async () => {
  await page.setViewportSize({ width: 390, height: 844 })
  const tops = () =>
    page.evaluate<number[]>(
      `[...document.querySelectorAll('.DevicePage-sections .section')].map(part => part.getBoundingClientRect().top)`,
    )
  await expect
    .poll(async () => {
      const now = await tops()
      return { sections: now.length, isInOrder: now.join() === now.toSorted((a, b) => a - b).join() }
    })
    .toEqual({ sections: 10, isInOrder: true })
  await page.setViewportSize({ width: 1440, height: 1000 })
})

it.each([
  ['props', 'Properties'],
  ['sys', 'System Info'],
  ['conn', 'Connections'],
])('scrolls to the section in the URL, #%s, when everything above it has loaded', async (id, title) => {
  await using own = await page.context().newPage()
  // After 5 s the page would no longer keep the section in place.
  await ignoreTimersOf(own, 5_000)
  // Delays the answers for the sections above the linked one, so that they load last.
  for (const action of ['devices_GetPage', 'devices_GetConnectionHistory'])
    await own.route(`**/invoke/${action}`, async route => {
      await new Promise(later => setTimeout(later, 700))
      await route.continue()
    })
  await own.goto(`${address}#${id}`)
  await own.getByText('crane.limit-15').waitFor()
  await own.locator('.AnchorNav-nav [aria-current]').getByText(title).waitFor()
  const top = `document.getElementById('${id}').getBoundingClientRect().top`
  const left = `document.documentElement.scrollHeight - innerHeight - scrollY`
  // The section is right below the sticky header, unless the page ends before the section reaches the header.
  await expect
    .poll(() => own.evaluate(`${left} < 2 ? ${top} < innerHeight : Math.abs(${top} - 112) < 3`))
    .toBe(true)
  // After a person has scrolled, updates do not scroll the page again.
  await own.mouse.wheel(0, -400)
  await expect.poll(() => own.evaluate(top)).toBeGreaterThan(112 + 100)
  const value = String(Date.now())
  await set('crane.limit-15', value)
  await own.getByText(value).first().waitFor()
  expect(await own.evaluate(top)).toBeGreaterThan(112 + 100)
  await own.unrouteAll({ behavior: 'wait' })
})

it('shows every section again once its query succeeds', async () => {
  const url = /invoke\/devices_(GetPage|QueryProperties|GetProperty)$/
  let asked = 0
  await page.route(url, route => {
    asked++
    return route.fulfill({ status: 500, json: { kind: 'Internal', message: 'On fire.' } })
  })
  await page.goto('about:blank')
  await page.goto(address)
  const again = page.getByRole('button', { name: 'Try again' })
  await expect.poll(() => again.count()).toBe(3)
  // A request in flight when the route is removed would fail too, so the test waits until no further requests arrive.
  let before = 0
  await expect
    .poll(
      () => {
        const isSettled = asked === before
        before = asked
        return isSettled
      },
      { interval: 500 },
    )
    .toBe(true)
  await page.unroute(url)
  for (let failed = 3; failed > 0; failed--) {
    await again.first().click()
    await expect.poll(() => again.count()).toBe(failed - 1)
  }
  await page.getByText('crane.limit-15').waitFor()
})

it('C28: says under the title and in the head that the device could not be loaded', async () => {
  // The details come with the first request of the page, and by themselves if it fails.
  const mendPage = await failAction(page, 'devices_GetPage')
  const mendDetails = await failAction(page, 'devices_GetDetails')
  await page.goto('about:blank')
  await page.goto(address)
  const alert = page.getByRole('alert').filter({ hasText: 'Could not load the device.' })
  await page.getByText('crane.limit-15').waitFor()
  await page.getByText(/^Last update failed /).waitFor()
  expect(await page.getByText(/^Updated /).count()).toBe(0)
  const topOf = async (locator: Locator) => (await locator.boundingBox())!.y
  expect(await topOf(alert)).toBeGreaterThan(await topOf(page.getByRole('heading', { level: 1 })))
  expect(await topOf(alert)).toBeLessThan(
    await topOf(page.getByRole('heading', { name: 'Connection', exact: true })),
  )
  await expectGoodScreen(page, 'device-without-details')
  await mendPage()
  await mendDetails()
  await alert.getByRole('button', { name: 'Try again' }).click()
  await alert.waitFor({ state: 'detached' })
  await page.getByText(/^Updated /).waitFor()
})

it('C28: shows the error page when the first load of the timeline fails', async () => {
  const mend = await failAction(page, 'devices_QueryTimeline')
  await page.goto(`${address}/timeline`)
  await page.getByRole('heading', { level: 1, name: 'Something went wrong!' }).waitFor()
  await mend()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { level: 1, name: 'What happened' }).waitFor()
})

it('shows that the session has ended, with a link to sign in again', async () => {
  await page.goto(address)
  await page
    .locator('.EntityHead-head')
    .getByText(/^Updated /)
    .waitFor()
  await page.route('**/invoke/devices_*', route =>
    route.fulfill({ status: 401, json: { kind: 'Forbidden', message: 'Not logged in' } }),
  )
  const alert = page.getByRole('alert').filter({ hasText: 'Could not load the device.' })
  // A refresh may share the answer of a request that was in flight before the route was set. So the test refreshes until the
  // alert appears.
  await expect
    .poll(
      async () => {
        await page.keyboard.press('r')
        return alert.isVisible()
      },
      { interval: 500 },
    )
    .toBe(true)
  const link = alert.getByRole('link', { name: 'Log in' })
  expect(await link.getAttribute('href')).toBe(
    `/login?redirect=${encodeURIComponent(new URL(address).pathname)}`,
  )
  // The data of the last successful refresh stay on screen.
  await page.getByText('crane.limit-15').waitFor()
  await expectGoodScreen(page, 'device-signed-out')
  await page.unrouteAll({ behavior: 'wait' })
  await page.keyboard.press('r')
  await alert.waitFor({ state: 'detached' })
})

it('fits a token name of 128 characters', async () => {
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  await invoke(page, 'projects_CreateDeploymentToken', {
    projectId: projects[0]!.projectId,
    name: 'x'.repeat(128),
    flags: { autoAccept: true },
  })
  await page.goto(`${project}/tokens`)
  const name = page.getByText('x'.repeat(128), { exact: true })
  await name.waitFor()
  for (const width of [1920, 1440, 1181, 1024, 390, 320]) {
    await page.setViewportSize({ width, height: 900 })
    // The console may render the layout of a new width some frames after the resize.
    const measured = async () => {
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      const { x, width: long } = (await name.boundingBox())!
      return { width, overflow, isSeen: x + long < width }
    }
    await expect.poll(measured).toEqual({ width, overflow: 0, isSeen: true })
  }
  await page.setViewportSize({ width: 1440, height: 1000 })
})

it('C6: shows Page not Found when the project of the open page is deleted', async () => {
  const { projectId } = await invoke(page, 'projects_Create', { organizationId, name: 'To go' })
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/tokens`)
  await page.getByText('Create a token to connect devices').waitFor()
  await invoke(page, 'projects_Delete', { projectId })
  await page.getByRole('heading', { level: 1, name: 'Page not Found' }).waitFor()
  expect(await page.getByRole('button', { name: 'New Token' }).count()).toBe(0)
  await page.getByRole('link', { name: 'All Projects' }).click()
  await page.getByRole('link', { name: 'First project' }).waitFor()
  expect(stage.faults).toEqual([])
})

/** Sets a property of the device to exactly this JSON text. */
async function set(name: string, json: string): Promise<void> {
  const response = await page.request.post(`${stage.hub.url}/api/v1/actions/invoke/devices_SetProperty`, {
    headers: { origin: stage.hub.url, 'content-type': 'application/json' },
    data: `{"deviceId":"${DEVICE}","name":"${name}","value":${json}}`,
  })
  expect(response.ok()).toBe(true)
}
