import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { addPending, addRefusals } from './pending-devices.ts'
import { expectGoodScreen, invoke, openStage, type Stage } from './people.ts'

let stage: Stage
let page: Page
/** URL of the device list. */
let devices: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  // 31 accepted and 20 new devices from one address, and one new device from another address. All have the same token.
  await addPending(stage.hub, 'dock', 31, '185.46.212.34', 'Active', 200)
  await addPending(stage.hub, 'pier6', 20, '185.46.212.34', 'Pending', 100)
  await addPending(stage.hub, 'stk', 1, '91.64.178.20', 'Pending', 10)
  page = await stage.signedInPage({ prepare: opened => opened.clock.install() })
  await page.getByRole('link', { name: 'First project' }).click()
  await page.getByRole('heading', { name: 'Devices' }).waitFor()
  devices = page.url()
})
beforeEach(async () => {
  page = await stage.signedInPage({ prepare: opened => opened.clock.install() })
})

afterAll(() => resources.disposeAsync())

const table = () => page.getByRole('table', { name: 'Pending certificates' })

it('accepts 20 new devices in three steps, and says what was refused and why', async () => {
  // Step 1: open the list.
  await page.getByRole('link', { name: 'Review pending certificates' }).click()
  await table().getByText('20 new devices').waitFor()
  // C30: the odd device stands above the batch, and is marked.
  await table().getByText('Unlike the others').waitFor()
  expect(await table().getByRole('row').nth(1).innerText()).toMatch(/1 new device\s+Unlike the others/)
  await page
    .getByText(
      'No other device with this token came from this address. The 31 accepted ones came from 185.46.212.34.',
    )
    .waitFor()
  await expectGoodScreen(page, 'pending')
  // On a phone the mark keeps the height of a badge, and the page shows that it is kept up to date.
  await page.setViewportSize({ width: 390, height: 844 })
  const mark = (await table().locator('.badge', { hasText: 'Unlike the others' }).boundingBox())!
  expect(mark.height).toBeLessThan(30)
  expect(mark.width).toBeLessThan(200)
  await page.locator('.page-head .live').waitFor()
  await page.setViewportSize({ width: 1440, height: 1000 })
  // Step 2: select the group.
  await page.getByRole('checkbox', { name: 'Select 20 new devices' }).click()
  await page.getByText('20 selected').waitFor()
  await page.getByText('one token, one address').waitFor()
  await expectGoodScreen(page, 'pending-selected')
  const { certificates } = await invoke(page, 'projects_QueryPendingCertificates', { projectId: projectId() })
  const [rejected, deleted] = certificates.slice(1)
  await page.route('**/invoke/devices_CreateBulkDecision', async route => {
    const answer = await route.fetch()
    // Rejects one certificate and deletes one device after the preview was made and before the bulk action starts.
    await invoke(page, 'devices_SetCertificateStatus', {
      certificateId: rejected!.certificateId,
      status: 'Rejected',
    })
    await invoke(page, 'devices_Delete', { deviceId: deleted!.deviceId })
    await route.fulfill({ response: answer })
  })
  // Step 3: accept the selection.
  await page.getByRole('button', { name: 'Accept 20' }).click()
  await page.getByRole('heading', { name: '18 accepted, 2 refused' }).waitFor()
  await page.unrouteAll({ behavior: 'wait' })
  const refused = page.getByRole('table', { name: '2 refused' })
  await refused.getByText('The certificate was rejected by you at').waitFor()
  await refused.getByText('The device was deleted by you at').waitFor()
  await page.getByRole('heading', { name: 'Still pending, 1 certificate' }).waitFor()
  await page.getByRole('button', { name: 'Show 11 more' }).waitFor()
  await expectGoodScreen(page, 'pending-result')
  expect(page.url()).toMatch(/\?result=bulk_\w{22}$/)
  await page.reload()
  await page.getByRole('heading', { name: '18 accepted, 2 refused' }).waitFor()

  await page.getByRole('link', { name: 'Show the 18 devices' }).click()
  await page.getByText(/^18 of \d+ devices$/).waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Close the result' }).click()
  await page.getByRole('heading', { name: 'Still pending' }).waitFor({ state: 'detached' })
})

it('keeps later certificates out of the list, and selects rows with keys that never decide on them', async () => {
  await page.goto(`${devices}/pending`)
  await table().getByText('1 new device').waitFor()
  await addPending(stage.hub, 'late', 3, '10.0.0.7', 'Pending', 0)
  await invoke(page, 'devices_SetName', { deviceId: await someDevice(), name: 'renamed' })
  await page.getByRole('button', { name: '3 new, show' }).click()
  await table().getByText('3 new devices').waitFor()
  await table().getByRole('checkbox', { name: 'Select unnamed (late-gw-003)' }).click()
  await page.getByText('1 selected').waitFor()
  // Another call of the API rejects the selected certificate. Its row shows the rejection for some seconds and is deselected.
  const { certificates } = await invoke(page, 'projects_QueryPendingCertificates', {
    projectId: projectId(),
    filter: { text: 'late-gw-003' },
  })
  const { certificateId } = certificates[0]!
  await Promise.all([
    table().getByRole('row', { name: 'late-gw-003' }).getByText('Rejected').waitFor(),
    invoke(page, 'devices_SetCertificateStatus', { certificateId, status: 'Rejected' }),
  ])
  await page.getByText('1 selected').waitFor({ state: 'detached' })
  await page.clock.fastForward(4_000)
  await table().getByText('2 new devices').waitFor()
  await table().getByText('late-gw-003').waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'Pending certificates' }).focus()
  for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key)
  await page.getByText('2 selected').waitFor()
  const before = await pendingCount()
  // None of these keys may accept or reject: `a` moves the focus to the actions, `r` refreshes, and the others do nothing.
  for (const key of ['a', 'r', 'A', 'd', 'y']) await page.keyboard.press(key)
  expect(await pendingCount()).toBe(before)
})

it('finds the page by the palette and by the badge of the card, and rejects all that match a filter', async () => {
  await page.goto(devices.replace(/\/p_.*/, ''))
  await page.getByRole('link', { name: '3 pending' }).click()
  await page.getByRole('heading', { name: 'Pending certificates' }).waitFor()
  await page.getByLabel('Filter pending certificates').fill('10.0.0.7')
  await page.getByText('2 certificates of 2 devices').first().waitFor()
  await page.getByRole('checkbox', { name: 'Select all 2' }).click()
  await page.getByRole('button', { name: 'Reject 2' }).click()
  // C30: the request is held back for 10 s, in which the decision can be undone.
  await page.getByText(/^Rejecting 2 certificates in \d+ s\.$/).waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  expect(await pendingCount()).toBe(3)
  await page.getByRole('button', { name: 'Reject 2' }).click()
  await page.getByText(/^Rejecting 2 certificates in \d+ s\.$/).waitFor()
  await page.clock.fastForward(10_500)
  await page.getByRole('heading', { name: '2 rejected', level: 2 }).waitFor()
  await page.goto(devices)
  await page.getByRole('heading', { name: 'Devices' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Jump to' }).fill('pending')
  await page.getByRole('option', { name: 'Pending certificates', exact: true }).click()
  await page.getByRole('checkbox', { name: 'Select all 1' }).click()
  await page.getByRole('button', { name: 'Reject 1' }).click()
  await page.getByText(/^Rejecting 1 certificate in \d+ s\.$/).waitFor()
  await page.clock.fastForward(10_500)
  await page.getByText('No pending certificates.').waitFor()
  await expectGoodScreen(page, 'pending-none')
  expect(stage.faults).toEqual([])
})

it('names a decision on more than 200 again before it starts, and runs it as a job', async () => {
  await addPending(stage.hub, 'many', 230, '10.0.0.8', 'Pending', 300)
  await page.goto(`${devices}/pending`)
  await page.getByRole('checkbox', { name: 'Select 230 new devices' }).click()
  await page.getByRole('button', { name: 'Accept 230' }).click()
  const dialog = page.getByRole('dialog', { name: 'Accept 230 certificates' })
  await dialog.getByText('and 225 more devices').waitFor()
  await expectGoodScreen(page, 'bulk-preview')
  await dialog.getByRole('button', { name: 'Accept 230 certificates' }).click()
  await page.getByRole('heading', { name: '230 accepted', level: 2 }).waitFor()
  expect(stage.faults).toEqual([])
})

it('accepts and deletes devices that are selected in the list, with a preview and time to undo', async () => {
  await addPending(stage.hub, 'dual', 3, '10.0.0.9', 'Pending', 0)
  await page.goto(`${devices}?q=dual`)
  const list = page.getByRole('table', { name: 'Devices' })
  await list.getByRole('row', { name: 'dual-gw-003' }).waitFor()
  for (const name of ['dual-gw-001', 'dual-gw-002'])
    await list.getByRole('row', { name }).getByRole('checkbox').click()
  const bar = page.getByRole('region', { name: 'Selection' })
  await bar.getByRole('button', { name: 'Reject 2' }).waitFor()
  await expectGoodScreen(page, 'bulk-bar')
  await bar.getByRole('button', { name: 'Accept 2 certificates' }).click()
  await bar.getByText('2 accepted').waitFor()
  await bar.getByRole('link', { name: 'Show the result' }).waitFor()
  await bar.getByRole('button', { name: 'Close the result' }).click()
  await bar.waitFor({ state: 'detached' })

  for (const name of ['dual-gw-001', 'dual-gw-002'])
    await list.getByRole('row', { name }).getByRole('checkbox').click()
  await bar.getByRole('button', { name: 'Accept 0 certificates' }).waitFor()
  expect(await bar.getByRole('button', { name: 'Accept 0 certificates' }).isDisabled()).toBe(true)
  const remove = async () => {
    await bar.getByRole('button', { name: 'Delete 2 devices' }).click()
    const dialog = page.getByRole('dialog', { name: 'Delete 2 devices' })
    await dialog.getByText('Their history goes with them.').waitFor()
    await dialog.getByRole('button', { name: 'Delete 2 devices' }).click()
    await bar.getByText(/^Deleting 2 devices in \d+ s\.$/).waitFor()
  }
  await remove()
  await bar.getByRole('button', { name: 'Undo' }).click()
  await remove()
  // Leaving the list sends the deletion immediately.
  await page.getByRole('link', { name: 'Tokens' }).click()
  await page.getByRole('heading', { name: 'Tokens' }).waitFor()
  await expect
    .poll(
      async () =>
        (
          await invoke(page, 'projects_QueryDevices', {
            projectId: projectId(),
            filter: { text: 'dual' },
            limit: 5,
          })
        ).total,
    )
    .toBe(1)
})

it('deletes more than 200 devices that match a filter after ten seconds, which can be undone', async () => {
  await page.goto(`${devices}?q=many`)
  const list = page.getByRole('table', { name: 'Devices' })
  await list.getByRole('row', { name: 'many-gw-001' }).getByRole('checkbox').click()
  const bar = page.getByRole('region', { name: 'Selection' })
  if (await bar.getByRole('button', { name: 'Close the result' }).isVisible())
    await bar.getByRole('button', { name: 'Close the result' }).click()
  await bar.getByRole('button', { name: 'Select all 230 that match' }).click()
  await bar.getByRole('button', { name: 'Delete 230 devices' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete 230 devices' })
  await dialog.getByText('The deletion starts after 10 s and can be cancelled.').waitFor()
  await dialog.getByRole('button', { name: 'Delete 230 devices' }).click()
  await bar.getByText(/^Deleting 230 devices in \d+ s\.$/).waitFor()
  await bar.getByRole('button', { name: 'Undo' }).click()
  await bar.getByText('0 deleted').waitFor()
  await bar.getByRole('link', { name: 'Show the result' }).click()
  await page.getByText(/Cancelled by you at .*; 230 left as they were\./).waitFor()
  await expectGoodScreen(page, 'bulk-cancelled')
  expect(stage.faults).toEqual([])
})

it('stays usable while the hub cannot count or list the pending certificates in time', async () => {
  await addPending(stage.hub, 'slow', 60, '10.0.0.11', 'Pending', 5)
  const list = '**/invoke/projects_QueryPendingCertificates'
  await page.route(list, async route => {
    const answer = await route.fetch()
    const json = { ...(await answer.json()), total: null, deviceTotal: null, newerCount: null }
    await route.fulfill({ response: answer, json })
  })
  await page.goto(`${devices}/pending`)
  await page.getByText('50 certificates shown, – in all: counting took longer than 2 s').waitFor()
  await page.getByText('– certificates: counting took longer than 2 s', { exact: true }).waitFor()
  await expectGoodScreen(page, 'pending-uncounted')
  await page.getByRole('button', { name: 'Load more' }).click()
  await page.getByText(/^\d+ certificates shown/).waitFor()
  await page.getByRole('button', { name: 'Load more' }).waitFor({ state: 'detached' })
  await page.getByLabel('Filter pending certificates').fill('slow-gw-001')
  await page.getByText('1 certificate shown').waitFor()
  await page.getByRole('checkbox', { name: 'Select all 1' }).click()
  await page.getByRole('button', { name: 'Reject 1' }).click()
  await page.getByText(/^Rejecting 1 certificate in \d+ s\.$/).waitFor()
  await page.clock.fastForward(10_500)
  await page.getByRole('heading', { name: '1 rejected', level: 2 }).waitFor()
  await page.unrouteAll({ behavior: 'wait' })

  const message = 'Listing the pending certificates took longer than 2 s: filter them.'
  await page.route(list, route => route.fulfill({ status: 409, json: { kind: 'Invalid', message } }))
  await page.goto(`${devices}/pending`)
  await page.getByText(message).waitFor()
  await expectGoodScreen(page, 'pending-not-listed')
  await page.unrouteAll({ behavior: 'wait' })
  await page.getByLabel('Filter pending certificates').fill('slow-gw-00')
  await page.getByText('8 certificates of 8 devices').first().waitFor()

  // The page of a device without connections and properties has its sections side by side.
  await addRefusals(stage.hub, 'slow-gw-002')
  await table().getByRole('link', { name: 'slow-gw-002' }).first().click()
  await page.getByRole('heading', { name: /^This device waits for approval/ }).waitFor()
  const top = async (name: string) =>
    (await page.getByRole('heading', { name, exact: true }).boundingBox())!.y
  await expect.poll(async () => (await top('Properties')) - (await top('System Info'))).toBeLessThan(40)
  await expect.poll(async () => (await top('Connection')) - (await top('Recent Events'))).toBe(0)
  const attempts = page.getByRole('table', { name: 'Attempts to connect' })
  await attempts.getByText('Refused: certificate is pending').first().waitFor()
  expect(await attempts.getByRole('row').count()).toBe(5)
  await expectGoodScreen(page, 'device-new')
})

function projectId(): string {
  return /p_\w{22}/.exec(devices)![0]
}

async function pendingCount(): Promise<number> {
  return (await invoke(page, 'projects_QueryPendingCertificates', { projectId: projectId() })).total!
}

async function someDevice(): Promise<string> {
  const answer = await invoke(page, 'projects_QueryDevices', { projectId: projectId(), limit: 1 })
  return answer.devices[0]!.deviceId
}
