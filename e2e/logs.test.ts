import { connectDevice } from '@muster/testkit/device'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase, firstToken } from './hub-child.ts'
import { expectGoodScreen, invoke, openStage, organizationOf, type Stage, signIn } from './people.ts'

const ADA = { email: 'ada@nordwind.example', password: 'correct horse battery' }
/** A name that is written from right to left, with characters that change the direction of text around them, as older releases took it. */
const RIGHT_TO_LEFT = 'رافعة\u202e‏-7'

let stage: Stage
/** Page of a person who administers the organization, but not the instance. */
let page: Page
/** Page of the administrator of the instance. */
let root: Page
let organizationId: string
let projectId: string
/** Device ids by name. */
const devices: Record<string, string> = {}
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  root = await stage.signedInPage()
  organizationId = await organizationOf(root)
  const { projects } = await invoke(root, 'organizations_QueryProjects', { organizationId })
  projectId = projects[0]!.projectId
  const { userId } = await invoke(root, 'users_Create', {
    ...ADA,
    displayName: 'Ada Lovelace',
    isAdmin: false,
  }).then(created => created as { userId: string })
  await invoke(root, 'organizations_AddMember', { organizationId, userId, isAdmin: true })
  const token = firstToken(stage.hub)
  for (const name of ['crane-01', 'crane-02', RIGHT_TO_LEFT]) {
    await using device = await connectDevice({ url: stage.hub.url, token })
    devices[name] = device.deviceId
  }
  // The sign-in with the form is an entry of the log.
  page = await stage.signedInPage({ person: ADA, prepare: opened => signIn(opened, stage, ADA) })
  for (const [name, deviceId] of Object.entries(devices))
    if (name !== RIGHT_TO_LEFT) await invoke(page, 'devices_SetName', { deviceId, name })
  await changeDatabase(
    stage.hub,
    `update device set name = '${RIGHT_TO_LEFT}' where device_id = '${devices[RIGHT_TO_LEFT]}'`,
  )
  const deviceId = devices['crane-01']!
  const { certificates } = await invoke(page, 'devices_GetDetails', { deviceId })
  const { certificateId } = certificates[0]!
  await invoke(page, 'devices_SetProperty', { deviceId, name: 'site.calibration', value: { offset: 1.5 } })
  await invoke(page, 'devices_SetProperty', { deviceId, name: 'site.calibration', value: 'x'.repeat(2000) })
  await invoke(page, 'devices_SetProperty', { deviceId, name: 'site.calibration', value: 2 })
  await invoke(page, 'devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
  await expect(
    invoke(page, 'devices_SetCertificateStatus', { certificateId, status: 'Active' }),
  ).rejects.toThrow()
  await invoke(page, 'devices_Delete', { deviceId: devices['crane-02']! })
  // Inserts events of one action on three devices, and an event whose type this console does not know, as from a newer hub.
  for (const n of [1, 2, 3])
    await changeDatabase(
      stage.hub,
      `insert into audit_event (event_id, event, actor, data, action_id, organization_id, project_id, device_id)
       values ('audit_ev_20261121-0800-CchPwQr${n}', 'devices_PropertySet', '{"actor":"System"}',
               '{"projectId":"${projectId}","deviceId":"d_${String(n).repeat(22)}","propertyName":"dev.nexigon.ota.config"}',
               'audit_act_20261121-0800-GdCYExEP', '${organizationId}', '${projectId}', 'd_${String(n).repeat(22)}')`,
    )
  await changeDatabase(
    stage.hub,
    `insert into audit_event (event_id, event, actor, data, organization_id, project_id)
     values ('audit_ev_20261121-0800-CchPwQr9', 'devices_Painted', '{"actor":"System"}', '{"colour":"red"}', '${organizationId}', '${projectId}')`,
  )
})
beforeEach(async () => {
  root = await stage.signedInPage()
  page = await stage.signedInPage({ person: ADA })
})

afterAll(() => resources.disposeAsync())

const logPath = () => `${stage.hub.url}/${organizationId}/projects/${projectId}/log`
const rowOf = (text: string | RegExp) => page.getByRole('row').filter({ hasText: text }).first()
const sentences = () => page.locator('td[data-k="What happened"] > div > span').allInnerTexts()

it('says what happened in sentences with links, absolute times and reasons', async () => {
  await page.goto(logPath())
  await page.getByRole('heading', { level: 1, name: 'Audit Log' }).waitFor()
  await rowOf('Ada Lovelace revoked the certificate of crane-01').waitFor()
  expect(await page.getByRole('columnheader').allInnerTexts()).toEqual([
    'Timestamp',
    'What happened',
    'Type',
    'Actor',
    'Action/Job id',
  ])
  const said = (await sentences()).map(text => text.replace(/\s+/g, ' ').trim())
  expect(said).toEqual(
    expect.arrayContaining([
      'The hub did devices_Painted',
      expect.stringMatching(/^The hub set dev\.nexigon\.ota\.config of 3 devices( by \d\d:\d\d:\d\d)?$/),
      'Ada Lovelace deleted the device crane-02',
      'Ada Lovelace set site.calibration of crane-01',
      expect.stringMatching(
        /^Ada Lovelace could not accept the certificate of crane-01 Failed ?A certificate that is Revoked/,
      ),
    ]),
  )
  for (const time of await page.locator('td[data-k=Timestamp] time').allInnerTexts())
    expect(time).toMatch(/^\d\d:\d\d:\d\d$/)
  await rowOf('revoked the certificate').getByRole('link', { name: 'crane-01' }).click()
  await page.waitForURL(url => url.pathname.endsWith(`/devices/${devices['crane-01']}`))
  await page
    .getByRole('navigation', { name: 'Sections' })
    .getByRole('link', { name: 'Log', exact: true })
    .click()
  await page.waitForURL(url => url.pathname.endsWith(`/devices/${devices['crane-01']}/log`))
})

it('unfolds an entry with what changed, raw data, ids, address and browser', async () => {
  await page.goto(logPath())
  await rowOf('revoked the certificate')
    .getByRole('button', { name: /^Details of / })
    .click()
  const detail = page.locator('tr[data-detail]')
  await detail.getByText('Active to Revoked').waitFor()
  for (const text of ['127.0.0.1', 'Chrome on Linux', '"status": "Revoked"', 'Seal'])
    await detail.getByText(text, { exact: true }).first().waitFor()
  await page.getByText(/^entries in 24 hours, 1 failed$/).waitFor()
  await expectGoodScreen(page, 'log-open')
  await detail.getByRole('link', { name: 'Everything about crane-01' }).click()
  await page.waitForURL(url => url.pathname.endsWith(`/devices/${devices['crane-01']}/log`))
  await rowOf('Ada Lovelace revoked the certificate of crane-01').waitFor()
  // The device's log has no entries of other devices. An entry shows only the size and the SHA-256 of a long old value.
  await expect.poll(async () => (await sentences()).join()).not.toContain('crane-02')
  await page
    .getByRole('button', { name: /^Details of / })
    .nth(2)
    .click()
  await page.locator('tr[data-detail]').getByText('2.0 KiB, SHA-256').waitFor()
})

it('filters by actor, kind, subject, outcome and text, and shares the filter in the address', async () => {
  await page.goto(logPath())
  await page.getByRole('button', { name: /^Kind/ }).click()
  await page
    .getByRole('dialog', { name: 'Kind' })
    .getByRole('button', { name: 'Certificates', exact: true })
    .click()
  await page.waitForURL(/\?kind=certificate$/)
  await expect.poll(async () => (await sentences()).every(text => text.includes('certificate'))).toBe(true)
  await page.getByRole('button', { name: 'Failed', exact: true }).click()
  await page.waitForURL(/outcome=failed/)
  await expect.poll(async () => (await sentences()).length).toBe(1)
  await page.getByRole('button', { name: /^Actor/ }).click()
  await page.getByLabel('Find a person or id').fill('nobody of that name')
  await page.keyboard.press('Enter')
  await page.getByText('No entries match this filter.').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.waitForURL(url => url.search === '')

  const openSubjects = async (): Promise<void> => {
    if (await page.getByRole('dialog', { name: 'Subject' }).isVisible()) return
    await page.getByRole('button', { name: /^Subject/ }).click()
  }
  await openSubjects()
  await expectGoodScreen(page, 'log-subject', openSubjects)
  await openSubjects()
  await page.getByLabel('Find a name, or paste an id').fill('crane-01')
  await page.keyboard.press('Enter')
  await page.waitForURL(url => url.searchParams.get('subject') === devices['crane-01'])
  await expect
    .poll(async () =>
      (await sentences()).every(
        text => text.includes('crane-01') || text.includes('enrolled') || text.includes('connected'),
      ),
    )
    .toBe(true)
  await page
    .getByRole('button', { name: /^Subject/ })
    .filter({ hasText: 'crane-01' })
    .waitFor()

  await page.goto(logPath())
  await rowOf('crane-01').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('رافعة')
  await page.waitForURL(/[?&]q=/)
  await expect.poll(async () => (await sentences()).join()).not.toContain('crane')
  expect((await sentences()).length).toBeGreaterThan(0)
})

/**
 * Opens the filter "Time" and chooses last night, unless the filter is open. A resize of the window closes the filter, so it has to be
 * opened again for each size.
 */
async function chooseNight() {
  if (await page.getByRole('dialog', { name: 'Time' }).isVisible()) return
  await page.getByRole('button', { name: /^Time/ }).click()
  await page.getByRole('button', { name: /^Last night/ }).click()
}

it("shows last night's changes within three keys and clicks", async () => {
  await changeDatabase(
    stage.hub,
    `insert into audit_event (event_id, event, actor, data, organization_id, project_id, created_at)
     values ('audit_ev_20261121-0800-CchPwQrA', 'projects_NameChanged', '{"actor":"System"}', '{"projectId":"${projectId}","name":"At night"}',
             '${organizationId}', '${projectId}', date_trunc('day', now()) - interval '1 hour')`,
  )
  await page.goto(logPath())
  await rowOf('At night').waitFor()
  await page.keyboard.press('f')
  await page
    .getByRole('dialog', { name: 'Time' })
    .getByRole('button', { name: /^Last night/ })
    .click()
  await page
    .getByText(
      /18:00 to .* 08:00, your time \(UTC.*\)\. 1[345] hours, (\d+ h \d+ min so far, |\d+ (min|s) so far, )?\d+ entr(y|ies)\.$/,
    )
    .waitFor()
  await expectGoodScreen(page, 'log-night', chooseNight)
  await chooseNight()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL(/from=.*T.*Z.*to=/)
  await page
    .getByRole('button', { name: /^Time/ })
    .filter({ hasText: 'Last night, 18:00 to 08:00' })
    .waitFor()
})

it('says at once when new entries came, and leaves the rows in place until they are asked for', async () => {
  await page.goto(logPath())
  const first = page.locator('td[data-k="What happened"]').first()
  await first.waitFor()
  const before = await sentences()
  const place = await first.boundingBox()
  const deviceId = devices['crane-01']!
  await invoke(root, 'devices_SetProperty', { deviceId, name: 'site.zone', value: 'B' })
  await page.getByRole('button', { name: '1 new entry, show' }).waitFor()
  await invoke(page, 'devices_SetProperty', { deviceId, name: 'site.zone', value: 'A' })
  await invoke(page, 'devices_RemoveProperty', { deviceId, name: 'site.zone' })
  const button = page.getByRole('button', { name: '3 new entries, show' })
  await button.waitFor()
  expect(await sentences()).toEqual(before)
  expect(await first.boundingBox()).toEqual(place)
  await expectGoodScreen(page, 'log-new')
  await button.click()
  await expect.poll(async () => (await sentences()).length).toBe(before.length + 3)
  expect((await sentences()).slice(0, 2).join()).toMatch(/removed site\.zone.*set site\.zone/s)
  await expect.poll(() => button.count()).toBe(0)
})

it('says whether entries are sealed and what the last verification found', async () => {
  const verified = { verifiedAt: new Date().toISOString(), sealNo: 41_206, isIntact: true }
  const sealedAt = new Date().toISOString()
  let sealing: object = { newest: { sealNo: 41_207, sealedAt, newestAt: sealedAt }, verified }
  await page.route('**/invoke/projects_QueryAuditLog', async route => {
    const response = await route.fetch()
    const answer = (await response.json()) as { events: { seal?: object }[] }
    for (const [index, event] of answer.events.entries())
      if (index > 0) event.seal = { sealNo: 41_207, sealedAt }
      else delete event.seal
    await route.fulfill({ response, json: { ...answer, sealing } })
  })
  await page.goto(logPath())
  const line = page.locator('[data-seal]')
  await line.getByText(/^Sealed up to \d\d:\d\d:\d\d\.$/).waitFor()
  expect(await line.innerText()).toMatch(
    /Seal 41,207, chain verified up to seal 41,206 at \d\d:\d\d and intact\. The rows above wait for the next seal\.$/,
  )
  sealing = { ...sealing, verified: { ...verified, isIntact: false } }
  await page.reload()
  await page.locator('[data-seal=broken]').getByText('The log is not intact.').waitFor()
  expect(await line.innerText()).toContain('Its rows do not match the seals after seal 41,206.')
  await page.unrouteAll({ behavior: 'wait' })
})

it('moves no row when a seal is made while somebody reads', async () => {
  const sealedAt = new Date().toISOString()
  const seal = { sealNo: 12, sealedAt }
  const newest = { ...seal, newestAt: sealedAt }
  let waiting = 4
  await page.route('**/invoke/projects_QueryAuditLog', async route => {
    const response = await route.fetch()
    const answer = (await response.json()) as { events: { seal?: object }[] }
    const events = answer.events.map(({ seal: _, ...event }, index) =>
      index < waiting ? event : { ...event, seal },
    )
    await route.fulfill({ response, json: { ...answer, events, sealing: { newest } } })
  })
  for (const width of [1440, 390]) {
    waiting = 4
    await page.setViewportSize({ width, height: 1000 })
    await page.goto(logPath())
    await page.getByText('The rows above wait for the next seal.').waitFor()
    const places = () =>
      page.locator('tbody tr').evaluateAll(rows => rows.map(row => row.getBoundingClientRect().top))
    const before = await places()
    waiting = 0
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('The rows above have been sealed since.').waitFor()
    expect(await places()).toEqual(before)
    await page.reload()
    await page.getByText('All of these entries are sealed.').waitFor()
  }
  await page.setViewportSize({ width: 1440, height: 1000 })
  await page.unrouteAll({ behavior: 'wait' })
})

it('says who acted and on what after both were deleted, with the ids in the opened row', async () => {
  const zoe = { email: 'zoe@nordwind.example', password: 'correct horse battery' }
  const { userId } = (await invoke(root, 'users_Create', {
    ...zoe,
    displayName: 'Zoe',
    isAdmin: false,
  })) as { userId: string }
  await invoke(root, 'organizations_AddMember', { organizationId, userId, isAdmin: true })
  const own = await stage.newPage()
  await signIn(own, stage, zoe)
  const { tokenId } = await invoke(own, 'projects_CreateDeploymentToken', { projectId, name: 'night shift' })
  await invoke(own, 'projects_DeleteDeploymentToken', { tokenId })
  await own.close()
  // An event of a token whose deletion is no longer in the log.
  await changeDatabase(
    stage.hub,
    `insert into audit_event (event_id, event, actor, data, organization_id, project_id)
     values ('audit_ev_20261121-0800-CchPwQrT', 'projects_DeploymentTokenFlagsChanged', '{"actor":"System"}',
             '{"projectId":"${projectId}","tokenId":"deployment_id_${'T'.repeat(22)}","flags":{}}', '${organizationId}', '${projectId}')`,
  )
  await invoke(root, 'users_Delete', { userId })
  await page.goto(logPath())
  await rowOf('The hub turned auto-accept of a deleted token off').waitFor()
  const row = rowOf('A deleted account created the token night shift')
  await row.waitFor()
  expect(await row.innerText()).not.toContain(userId)
  await row.getByRole('button', { name: /^Details of / }).click()
  await page.locator('tr[data-detail]').getByText(userId).waitFor()
  await page.getByRole('button', { name: /^Actor/ }).click()
  await page
    .getByRole('dialog', { name: 'Actor' })
    .getByRole('button', { name: `a deleted account, …${userId.slice(-6)}` })
    .click()
  await page.waitForURL(url => url.searchParams.get('actor') === userId)
  await expect
    .poll(async () => (await sentences()).every(text => text.startsWith('A deleted account')))
    .toBe(true)
})

it('leaves the looks of other pages as they are without a visit of a log', async () => {
  const head = page.locator('.EntityHead-actions')
  const all = page.getByRole('checkbox', { name: 'Select all on this list' }).locator('..')
  const sizeOf = (part: Locator) =>
    part.evaluate(({ clientWidth, clientHeight }) => ({ clientWidth, clientHeight }))
  const project = `${stage.hub.url}/${organizationId}/projects/${projectId}`
  await page.goto(`${project}/devices/${devices['crane-01']}`)
  await head.getByText('Updated just now').waitFor()
  const headSize = await sizeOf(head)
  await page.goto(`${project}/devices`)
  const allSize = await sizeOf(all)
  expect([headSize.clientHeight, allSize.clientHeight]).toEqual([32, 32])

  // The styles of a visited page stay loaded. Those of the log must not change the size of elements on other pages.
  const navigation = page.getByRole('navigation')
  await navigation.getByRole('link', { name: 'Audit Log', exact: true }).click()
  await rowOf('revoked the certificate').getByRole('link', { name: 'crane-01' }).click()
  await expect.poll(() => sizeOf(head)).toEqual(headSize)
  await navigation.getByRole('link', { name: 'Devices', exact: true }).first().click()
  await expect.poll(() => sizeOf(all)).toEqual(allSize)
})

it('C26: has a log of the organization, and begins with the specified columns in the log of the instance', async () => {
  await page.goto(`${stage.hub.url}/${organizationId}/settings`)
  await page
    .getByRole('navigation', { name: 'Organization settings' })
    .getByRole('link', { name: 'Audit Log' })
    .click()
  await rowOf('added Ada Lovelace as an administrator').waitFor()
  await root.goto(`${stage.hub.url}/admin/log`)
  const row = root.getByRole('row').filter({ hasText: 'Ada Lovelace signed in' })
  await row.waitFor()
  expect(await root.getByRole('columnheader').allInnerTexts()).toEqual([
    'ID',
    'Timestamp',
    'Type',
    'Actor',
    'Data',
    'Action/Job id',
    'What happened',
  ])
  // Address and browser of a caller are for the organization only.
  await row.getByRole('button', { name: /^Details of / }).click()
  await root.locator('tr[data-detail]').getByText('Seal', { exact: true }).waitFor()
  expect(await root.locator('tr[data-detail]').innerText()).not.toMatch(/Address|Browser/)
  await expectGoodScreen(root, 'log-instance')
  expect(stage.faults).toEqual([])
})
