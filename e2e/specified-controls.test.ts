import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connectDevice, type FakeDevice } from '@muster/testkit'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { firstToken } from './hub-child.ts'
import { expectGoodScreen, failAction, invoke, openStage, organizationOf, type Stage } from './people.ts'
import { addFailingWebhook } from './populated-stage.ts'

let stage: Stage
let page: Page
let device: FakeDevice
let project: string
let devicePath: string
let repository: string
let webhook: string
let organization: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage({ MUSTER_OUTBOUND_ALLOW: 'webhooks:127.0.0.1' }))
  device = resources.use(await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) }))
  page = await stage.signedInPage()
  const organizationId = await organizationOf(page)
  organization = `/${organizationId}`
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  project = `${organization}/projects/${projects[0]!.projectId}`
  devicePath = `${project}/devices/${device.deviceId}`
  const made = await invoke(page, 'repositories_Create', { organizationId, name: 'crane-images' })
  if (made.result === 'Created') repository = `${organization}/repositories/${made.repositoryId}`
  webhook = `${organization}/settings/webhooks/${await addFailingWebhook(stage, page, { organizationId, name: 'Tickets' })}`
  await invoke(page, 'devices_SetProperty', { deviceId: device.deviceId, name: 'app.mode', value: 'auto' })
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

type Opened = {
  /** Source file of the console with the form. */
  file: string
  open: () => Promise<Locator>
  /** Text of the submit button. */
  submit: string
  /** Values that cannot be submitted, and values that can, by the label of their field. Absent where every value can be submitted. */
  values?: { wrong: Record<string, string>; right: Record<string, string> }
}

/** Every form of the console. */
const FORMS: Record<string, Opened> = {
  'sign-in': {
    file: 'pages/login/LoginPage.tsx',
    open: () => formAt('/login'),
    submit: 'Log in',
    values: { wrong: {}, right: { Email: 'mira@halden.example', Password: 'a wrong password' } },
  },
  'sign-up': {
    file: 'pages/signup/SignupPage.tsx',
    open: () => formAt('/signup/'),
    submit: 'Create account',
  },
  'a password by mail': {
    file: 'pages/login/SetPasswordPage.tsx',
    open: () => formAt('/set-password?jwt=e30.e30.e30'),
    submit: 'Set password',
    values: {
      wrong: { 'New password': 'short', 'Confirm password': 'short' },
      right: { 'New password': 'long enough', 'Confirm password': 'long enough' },
    },
  },
  'a project': {
    file: 'pages/projects/CreateProjectDialog.tsx',
    open: () => dialog(`${organization}/projects`, 'Create Project'),
    submit: 'Create Project',
    values: { wrong: {}, right: { Name: 'Quay' } },
  },
  'a repository': {
    file: 'pages/repositories/NewRepositoryDialog.tsx',
    open: () => dialog(`${organization}/repositories/`, 'New Repository'),
    submit: 'Create Repository',
  },
  'an account': {
    file: 'pages/accounts/NewUserDialog.tsx',
    open: () => dialog('/admin/users', 'New User'),
    submit: 'Create User',
  },
  'one’s own address': {
    file: 'pages/accounts/EmailSection.tsx',
    open: () => region('/settings/profile', 'Change Email'),
    submit: 'Mail a Link',
    values: {
      wrong: { 'New email': ' ' },
      right: { 'New email': 'mira@new.example', 'Current password': 'a password' },
    },
  },
  'the address of an account': {
    file: 'pages/accounts/SetEmailDialog.tsx',
    open: async () => {
      await page.goto(`${stage.hub.url}/admin/users`)
      await page
        .getByRole('button', { name: /^More actions for/ })
        .first()
        .click()
      await page.getByRole('menuitem', { name: 'Change email' }).click()
      return page.getByRole('dialog')
    },
    submit: 'Change Email',
    values: { wrong: { Email: ' ' }, right: { Email: 'mira@new.example' } },
  },
  'an invitation': {
    file: 'pages/organizations/InviteDialog.tsx',
    open: () => dialog(`${organization}/settings/members`, 'Invite User'),
    submit: 'Invite User',
    values: { wrong: { Email: 'mira' }, right: { Email: 'mira@halden.example' } },
  },
  'a user token': {
    file: 'pages/accounts/NewUserTokenDialog.tsx',
    open: () => dialog('/settings/security', 'New Token'),
    submit: 'Create Token',
    values: { wrong: {}, right: { Name: 'Nightly script' } },
  },
  'a deployment token': {
    file: 'pages/projects/tokens/NewTokenDialog.tsx',
    open: () => dialog(`${project}/tokens`, 'New Token'),
    submit: 'Create Token',
    values: { wrong: {}, right: { Name: 'Line 5' } },
  },
  'the limits of a deployment token': {
    file: 'pages/projects/tokens/TokenLimitsDialog.tsx',
    open: () => dialog(`${project}/tokens`, /^Change limits of/),
    submit: 'Save Limits',
    values: { wrong: { 'Device limit': 'many' }, right: { 'Device limit': '20' } },
  },
  'the labels of a deployment token': {
    file: 'pages/projects/tokens/TokenLabelsDialog.tsx',
    open: () => dialog(`${project}/tokens`, /^Change labels of/),
    submit: 'Save Labels',
  },
  'the name of a project': {
    file: 'pages/projects/ProjectSettingsPage.tsx',
    open: () => region(`${project}/settings`, 'Project'),
    submit: 'Save',
    values: { wrong: { Name: ' ' }, right: { Name: 'Pier 4' } },
  },
  'the name of an organization': {
    file: 'pages/organizations/OrganizationGeneralPage.tsx',
    open: () => region(`${organization}/settings/general`, 'Organization'),
    submit: 'Save',
    values: { wrong: { Name: ' ' }, right: { Name: 'Nordwind' } },
  },
  'a webhook': {
    file: 'pages/webhooks/NewWebhookDialog.tsx',
    open: () => dialog(`${organization}/settings/webhooks`, 'New Webhook'),
    submit: 'Create Webhook',
    values: { wrong: {}, right: { Name: 'Tickets', Address: 'https://tickets.example/hook' } },
  },
  'the settings of a webhook': {
    file: 'pages/webhooks/ChangeWebhookDialog.tsx',
    open: () => dialog(webhook, 'Change…'),
    submit: 'Save Webhook',
    values: { wrong: { Name: ' ' }, right: { Name: 'Tickets' } },
  },
  'failed messages of a webhook': {
    file: 'pages/webhooks/ResendDialog.tsx',
    open: () => dialog(webhook, 'Replay failed…'),
    submit: 'Send Again',
    values: { wrong: { 'Failed since': '' }, right: { 'Failed since': '2026-11-01T10:00' } },
  },
  'the export of events of a project': {
    file: 'pages/webhooks/shared/ExportForm.tsx',
    open: async () => {
      const section = await region(`${project}/settings`, 'Export of events')
      await section.getByRole('button', { name: 'Add a header' }).click()
      return section
    },
    submit: 'Save',
    values: {
      wrong: { Address: ' ' },
      right: {
        Address: 'https://collector.example:4318',
        'Name of header 1': 'Authorization',
        'Value of header 1': 'Bearer abc',
      },
    },
  },
  'pinned properties': {
    file: 'pages/projects/PinForm.tsx',
    open: async () => {
      const section = await region(`${project}/settings`, 'Pinned properties')
      await section.getByRole('button', { name: 'Pin a property' }).click()
      return section
    },
    submit: 'Save property',
    values: { wrong: {}, right: { Property: 'site' } },
  },
  'a linked repository': {
    file: 'pages/projects/LinkRepositoryForm.tsx',
    open: () => formAt(`${project}/repositories`),
    submit: 'Link Repository',
  },
  'the names of a repository': {
    file: 'pages/repositories/RepositoryNamesForm.tsx',
    open: () => region(`${repository}/settings`, 'Repository'),
    submit: 'Save',
    values: { wrong: { Name: ' ' }, right: { Name: 'Crane images' } },
  },
  'object storage': {
    file: 'pages/repositories/S3Form.tsx',
    open: () => region(`${repository}/settings`, 'S3 Configuration'),
    submit: 'Save',
    values: {
      wrong: {},
      right: {
        Endpoint: 'https://s3.example.com',
        Bucket: 'images',
        Region: 'eu-1',
        'Access key id': 'key',
        'Secret access key': 'secret',
      },
    },
  },
  'the profile': {
    file: 'pages/accounts/ProfilePage.tsx',
    open: () => formAt('/settings/profile'),
    submit: 'Save',
    values: { wrong: { 'Display name': ' ' }, right: { 'Display name': 'Mira' } },
  },
  'the password': {
    file: 'pages/accounts/PasswordSection.tsx',
    open: () => formAt('/settings/security'),
    submit: 'Change Password',
    values: {
      wrong: { 'New password': 'short', 'Confirm password': 'shorter' },
      right: { 'New password': 'long enough', 'Confirm password': 'long enough' },
    },
  },
  'the time of a log': {
    file: 'pages/audit/shared/TimePick.tsx',
    open: async () => {
      await page.goto(`${stage.hub.url}${project}/log`)
      await page.getByRole('button', { name: /^Time/ }).click()
      return page.locator('form:has(fieldset)')
    },
    submit: 'Apply',
    values: {
      wrong: { 'From, date': '2026-11-03', 'To, date': '2026-11-01' },
      right: { 'To, date': '2026-11-04' },
    },
  },
  'the time of a timeline': {
    file: 'pages/devices/detail/timeline/BetweenDialog.tsx',
    open: () => dialog(`${devicePath}/timeline`, 'Between…'),
    submit: 'Show',
    values: { wrong: {}, right: { From: '2026-11-01T10:00' } },
  },
  'the name of a device': {
    file: 'pages/devices/detail/RenameSection.tsx',
    open: () => region(devicePath, 'Rename Device'),
    submit: 'Save',
  },
  'a port of a device': {
    file: 'pages/devices/detail/ProxySection.tsx',
    open: () => region(devicePath, 'HTTP Proxy'),
    submit: 'Open',
    values: { wrong: { 'Another port': '70000' }, right: { 'Another port': '8080' } },
  },
  'a property': {
    file: 'pages/devices/detail/properties/NewPropertyDialog.tsx',
    open: () => dialog(devicePath, 'Set Property'),
    submit: 'Set Property',
    values: { wrong: { 'Value as JSON': '{' }, right: { Key: 'app.limit', 'Value as JSON': '12' } },
  },
  'the value of a property': {
    file: 'pages/devices/detail/properties/PropertyEditor.tsx',
    open: async () => {
      const section = await region(devicePath, 'Properties')
      await section.getByText('app.mode').hover()
      await section.getByRole('button', { name: 'Edit app.mode' }).click()
      return section.locator('form.properties-editor')
    },
    submit: 'Save Value',
    values: {
      wrong: { 'Value of app.mode as JSON': '{' },
      right: { 'Value of app.mode as JSON': '"manual"' },
    },
  },
  'the token of a first device': {
    file: 'pages/devices/connect/ConnectGuide.tsx',
    open: () => formAt(`${project}/devices/connect`),
    submit: 'Create Token',
    values: { wrong: { Name: ' ' }, right: { Name: 'Line 6' } },
  },
  'a condition of a device list': {
    file: 'pages/devices/list/lazy/ConditionPanel.tsx',
    open: async () => {
      await page.goto(`${stage.hub.url}${project}/devices`)
      // While the page loads, its heading takes the focus, which closes an open panel.
      await page.locator('tr[data-index]').first().waitFor()
      await page.getByRole('button', { name: 'Add a condition' }).click()
      return page.locator('.ConditionPanel-condition form')
    },
    submit: 'Add',
    values: { wrong: {}, right: { Property: 'version', Value: '2.7.0' } },
  },
  'a saved view': {
    file: 'pages/devices/views/SaveViewDialog.tsx',
    open: async () => {
      await page.goto(`${stage.hub.url}${project}/devices`)
      await page.locator('tr[data-index]').first().waitFor()
      await page.getByRole('button', { name: 'Views', exact: true }).click()
      await page.getByRole('button', { name: 'Save as a new view…' }).click()
      return page.getByRole('dialog', { name: 'Save as a new view' })
    },
    submit: 'Save View',
    values: { wrong: { Name: ' ' }, right: { Name: 'Line 6' } },
  },
}

it.each(Object.entries(FORMS))(
  'C24: the form for %s labels each field, and its button is disabled until wrong input is mended',
  async (_, { open, submit, values }) => {
    const form = await open()
    const button = form.getByRole('button', { name: submit, exact: true })
    await button.waitFor()
    expect(await unlabelled(form)).toEqual([])
    if (!values) return
    await fill(form, values.wrong)
    if (await button.isEnabled()) await button.click()
    await expect.poll(() => button.isDisabled()).toBe(true)
    await fill(form, values.right)
    await expect.poll(() => button.isEnabled()).toBe(true)
  },
)

it('C24: no form of the console is missing above', async () => {
  const folder = join(import.meta.dirname, '../apps/console/src')
  const names = (await readdir(folder, { recursive: true })).filter(name => name.endsWith('.tsx'))
  const found: string[] = []
  for (const name of names)
    if (/<(form|FormDialog|NameForm)\b(?!\.)/.test(await readFile(join(folder, name), 'utf8')))
      found.push(name)
  expect(found.sort()).toEqual([...Object.values(FORMS).map(({ file }) => file), ...OTHERS].sort())
})

/** Files with a form that have no row above. */
const OTHERS = [
  // Parts of the forms above.
  'form/FormDialog.tsx',
  'form/NameForm.tsx',
  // Questions whose only field is the current password, which they show only if the sign-in is old.
  'pages/accounts/SetActiveDialog.tsx',
  'pages/accounts/SetAdminDialog.tsx',
  // Names a device right after it has come. `e2e/enrolment.test.ts` fills it.
  'pages/devices/connect/Greeting.tsx',
]

it('C24: Recent Events show category and attributes', async () => {
  await device.invoke('devices_PublishEvents', {
    deviceId: device.deviceId,
    events: [
      {
        eventId: 'd_ev_20261121-1203-17czX8X1',
        severity: 'Warning',
        category: 'ota',
        body: 'Download retried after timeout',
        attributes: { attempt: 2, mirror: 'eu-1' },
        emittedAt: new Date().toISOString(),
      },
    ],
  })
  await page.goto(`${stage.hub.url}${devicePath}`)
  const event = page.getByRole('region', { name: 'Recent Events' }).getByRole('listitem').first()
  await event.getByText('Download retried after timeout').waitFor()
  expect(await event.innerText()).toMatch(
    /Warning ota Download retried after timeout\s+attempt = 2\s+mirror = eu-1/,
  )
  await expectGoodScreen(page, 'device-event-attributes')
})

it('C24: a list of devices shows View at 390 pixels', async () => {
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(`${stage.hub.url}${project}/devices`)
  const view = page.getByRole('row').getByRole('link', { name: /^View/ })
  await view.waitFor()
  expect(await view.evaluate(link => link.checkVisibility({ opacityProperty: true }))).toBe(true)
  const { x, width } = (await view.boundingBox())!
  expect(x + width).toBeLessThanOrEqual(390)
  await view.click()
  await page.getByRole('region', { name: 'Rename Device' }).waitFor()
  await page.setViewportSize({ width: 1440, height: 1000 })
})

it('C27: an account that the hub did not answer for shows the specified sentence, then the cause', async () => {
  const form = await dialog('/admin/users', 'New User')
  const create = form.getByRole('button', { name: 'Create User' })
  const shown = (text: string) =>
    expect.poll(() => form.getByRole('alert').innerText()).toBe(`Error\n${text}`)
  await fill(form, { Email: 'mira@halden.example' })
  const url = '**/invoke/users_CreateUser'
  await page.route(url, route => route.abort())
  await create.click()
  await shown('An error occurred while creating the user. The hub could not be reached.')
  await page.unroute(url)
  await page.route(url, route => route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' }))
  await create.click()
  await shown(
    'An error occurred while creating the user. The hub could not be reached through its proxy (502).',
  )
  await page.unroute(url)
  await failAction(page, 'users_CreateUser', 'Sign-up is closed on this instance.')
  await create.click()
  await shown('Sign-up is closed on this instance.')
  await page.unroute(url)
})

async function formAt(path: string): Promise<Locator> {
  await page.goto(`${stage.hub.url}${path}`)
  return page.locator('main form')
}

async function region(path: string, name: string): Promise<Locator> {
  await page.goto(`${stage.hub.url}${path}`)
  return page.getByRole('region', { name, exact: true })
}

async function dialog(path: string, button: string | RegExp): Promise<Locator> {
  await page.goto(`${stage.hub.url}${path}`)
  await page.getByRole('button', { name: button, exact: true }).first().click()
  return page.getByRole('dialog')
}

async function fill(form: Locator, values: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(values)) await form.getByLabel(label).first().fill(value)
}

type Control = {
  labels: Iterable<{ textContent: string }> | null
  hidden: boolean
  ariaHidden: string | null
  outerHTML: string
  closest(selector: string): { querySelector(selector: string): { textContent: string } | null } | null
}

/** Controls of a form whose label or legend has neither "(required)" nor "(optional)", by their HTML. */
function unlabelled(form: Locator): Promise<string[]> {
  return form.locator('input, select, textarea').evaluateAll(controls =>
    (controls as unknown as Control[]).flatMap(control => {
      const labels = [...(control.labels ?? []), control.closest('fieldset')?.querySelector('legend')]
      const isMarked = labels.some(label => /\((required|optional)\)/.test(label?.textContent ?? ''))
      return control.hidden || control.ariaHidden || isMarked ? [] : [control.outerHTML]
    }),
  )
}
