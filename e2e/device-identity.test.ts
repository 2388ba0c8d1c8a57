import { newDatedId } from '@muster/actions'
import { connectDevice, deviceIdentity, type FakeDevice, renewalInput } from '@muster/testkit/device'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { changeDatabase, firstToken } from './hub-child.ts'
import { expectGoodScreen, invoke, openStage, organizationOf, type Stage, startSession } from './people.ts'

let stage: Stage
let page: Page
let device: FakeDevice
let project: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  page = await stage.newPage()
  await startSession(page, stage)
  const organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  project = `${stage.hub.url}/${organizationId}/projects/${projects[0]!.projectId}`
  device = resources.use(await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) }))
  await invoke(page, 'devices_SetName', { deviceId: device.deviceId, name: 'crane-01' })
})

afterAll(() => resources.disposeAsync())

const problem = () => page.locator('.problem-box')

it('D1: says on the page of a device and in the list that two machines share its identity, and what to do', async () => {
  await changeDatabase(
    stage.hub,
    `insert into device_shared_identity (device_id, takeovers, addresses, is_one_machine, first_at, last_at)
     values ('${device.deviceId}', 13, '["203.0.113.7", "203.0.113.9"]', false, now() - interval '9 min', now())`,
  )
  await page.goto(`${project}/devices`)
  const row = page.getByRole('row', { name: /crane-01/ })
  await row.getByText('Shared identity').waitFor()
  await expectGoodScreen(page, 'devices-shared-identity')
  await page.goto(`${project}/devices/${device.deviceId}`)
  await problem()
    .getByRole('heading', {
      name: 'Two machines share this identity: 13 takeovers in 10 minutes, from 203.0.113.7 and 203.0.113.9',
    })
    .waitFor()
  await problem()
    .getByText(/To make one of them a device of its own, stop its agent, delete its key/)
    .waitFor()
})

it('D2: says on each of two devices that they have one certificate, and links to the other', async () => {
  const identity = { ...(await deviceIdentity()), certificatePem: device.identity.certificatePem }
  const copy = resources.use(
    await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub), identity }),
  )
  await invoke(page, 'devices_SetName', { deviceId: copy.deviceId, name: 'crane-01-copy' })
  await page.goto(`${project}/devices/${copy.deviceId}`)
  await problem().getByText('Another device has the certificate of this one').waitFor()
  await problem().getByRole('link', { name: 'crane-01', exact: true }).click()
  await problem().getByText('Another device has the certificate of this one').waitFor()
  await problem().getByRole('link', { name: 'crane-01-copy' }).waitFor()
})

it('D3: shows events of a wrong clock at their receipt, by how much it is wrong, and a problem until newer events have right times', async () => {
  const publish = (severity: string, body: string, at: Date) =>
    device.invoke('devices_PublishEvents', {
      deviceId: device.deviceId,
      events: [
        { eventId: newDatedId('d_ev', at), severity, body, attributes: {}, emittedAt: at.toISOString() },
      ],
    })
  const later = Date.now() + (5 * 365 + 100) * 24 * 3_600_000
  for (let at = 0; at < 10; at++) await publish('Info', `swung ${at} times`, new Date(later + at))
  const events = page.getByRole('region', { name: 'Recent Events' })
  await events.getByText(/swung 9 times · device clock wrong by 5 years/).waitFor()
  await problem().getByText('Device clock wrong by 5 years').waitFor()
  await expectGoodScreen(page, 'device-wrong-clock')
  await publish('Critical', 'wind above 30 m/s', new Date())
  await events.getByText('wind above 30 m/s').waitFor()
  expect(await events.getByRole('listitem').first().innerText()).toContain('wind above 30 m/s')
  await page.goto(`${project}/devices/${device.deviceId}/events`)
  await page.getByText(/swung 0 times · device clock wrong by 5 years/).waitFor()
  expect(await page.locator('.TimelineRow-row').first().innerText()).toContain('wind above 30 m/s')
  await page.locator('.TimelineRow-row').nth(1).getByRole('button').click()
  await page.getByText('Clock of the device').waitFor()
  await page.goto(`${project}/devices/${device.deviceId}`)
  await events.getByText('wind above 30 m/s').waitFor()
  expect(
    await problem()
      .getByText(/Device clock wrong/)
      .count(),
  ).toBe(0)
})

it('D2: offers a certificate of its own for a new token, ticked, and says why a device with the certificate of another one waits', async () => {
  await page.goto(`${project}/tokens`)
  await page.getByRole('button', { name: 'New Token' }).first().click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.getByRole('checkbox', { name: 'A certificate of its own' }).isChecked()).toBe(true)
  await dialog.getByLabel('Name').fill('Cranes')
  await expectGoodScreen(page, 'token-new-own-certificate')
  await dialog.getByRole('button', { name: 'Create Token' }).click()
  await dialog.getByText('A certificate of its own').waitFor()
  const token = await dialog.locator('[data-secret] code').innerText()
  const identity = { ...(await deviceIdentity()), certificatePem: device.identity.certificatePem }
  await expect(connectDevice({ url: stage.hub.url, token, identity })).rejects.toMatchObject({ status: 403 })
  await page.goto(`${project}/devices/pending`)
  await page.getByText('Certificate of another device too').first().waitFor()
  await page.getByRole('link', { name: /^View/ }).first().click()
  await page
    .getByText(/Accepted on/)
    .getByRole('link', { name: /crane-01/ })
    .waitFor()
  await expectGoodScreen(page, 'device-pending-certificate')
})

it('D11: blocks a device after a question that names the devices with its certificate, and lists it in the settings of the project', async () => {
  const identity = { ...(await deviceIdentity()), certificatePem: device.identity.certificatePem }
  const stolen = await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub), identity })
  await invoke(page, 'devices_SetName', { deviceId: stolen.deviceId, name: 'crane-stolen' })
  await page.goto(`${project}/devices/${stolen.deviceId}`)
  const zone = page.getByRole('region', { name: 'Danger Zone' })
  await zone.getByText(/A device that still runs returns at once as a new one/).waitFor()
  const asked = new Promise<string>(resolve =>
    page.once('dialog', dialog => {
      resolve(dialog.message())
      void dialog.accept()
    }),
  )
  await zone.getByRole('button', { name: 'Block and Delete' }).click()
  expect(await asked).toMatch(
    /^Are you sure you want to block and delete crane-stolen\? Only its fingerprint/,
  )
  expect(await asked).toContain('crane-01')
  await page.getByText(/crane-stolen is blocked and deleted/).waitFor()
  await stolen.link.ended
  await expect(
    connectDevice({ url: stage.hub.url, token: firstToken(stage.hub), identity }),
  ).rejects.toMatchObject({ status: 403 })
  await page.goto(`${project}/settings`)
  const blocked = page.getByRole('region', { name: 'Blocked devices' })
  await blocked.getByText(/fingerprint only/).waitFor()
  await expectGoodScreen(page, 'project-blocked-devices')
  await blocked.getByRole('button', { name: 'Unblock crane-stolen' }).click()
  await page.getByText('crane-stolen is no longer blocked.').waitFor()
  await blocked.getByText(/^None\./).waitFor()
  await using back = await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub), identity })
  expect(back.deviceId).not.toBe(stolen.deviceId)
})

it('D9: warns of a certificate that ends soon, until the device has announced another, which is revoked with it', async () => {
  const identity = await deviceIdentity(new Date(Date.now() + 12.5 * 86_400_000))
  const ending = resources.use(
    await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub), identity }),
  )
  await invoke(page, 'devices_SetName', { deviceId: ending.deviceId, name: 'crane-ending' })
  await page.goto(`${project}/devices`)
  await page
    .getByRole('row', { name: /crane-ending/ })
    .getByText('Certificate ends soon')
    .waitFor()
  await page.goto(`${project}/devices/${ending.deviceId}`)
  await problem().getByText('Certificate ends in 12 days').waitFor()
  await expectGoodScreen(page, 'device-certificate-ends')

  await page.goto(`${project}/settings`)
  const allows = page.getByRole('switch', { name: 'Devices announce their next certificate' })
  expect(await allows.getAttribute('aria-checked')).toBe('true')
  // The switch is busy until the hub has saved the change.
  const saved = (isAllowed: boolean) =>
    page.locator(`[role=switch][aria-checked=${isAllowed}]:not([aria-busy])`)
  await allows.click()
  await saved(false).waitFor()
  const announcement = renewalInput(ending.deviceId, identity, await deviceIdentity())
  const announce = () => ending.invoke('devices_AddCertificate', announcement)
  await expect(announce()).rejects.toThrow('may not announce certificates')
  await allows.click()
  await saved(true).waitFor()
  await announce()

  await page.goto(`${project}/devices/${ending.deviceId}`)
  const certificates = page.getByRole('region', { name: 'Certificates' })
  await certificates.getByText('Announced by the device').waitFor()
  expect(await problem().count()).toBe(0)
  await certificates.getByRole('button', { name: /^Revoke only this/ }).waitFor()
  await expectGoodScreen(page, 'device-announced-certificate')
  await certificates
    .getByRole('row')
    .filter({ has: page.getByRole('button', { name: /^Revoke only this/ }) })
    .getByRole('button', { name: /^Revoke certificate/ })
    .click()
  await expect.poll(() => certificates.getByText('Revoked', { exact: true }).count()).toBe(2)
})
