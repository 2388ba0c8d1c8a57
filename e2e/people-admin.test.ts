import { readFile } from 'node:fs/promises'
import type { Dialog, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import {
  expectGoodMenu,
  expectGoodScreen,
  failAction,
  mailedLink,
  openStage,
  type Stage,
  signIn,
} from './people.ts'

const MIRA = { email: 'mira@halden.example', password: 'correct horse battery' }

let stage: Stage
let page: Page
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage({ MUSTER_NODE_NAME: 'harbour-1' }))
  page = await stage.signedInPage()
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

it('leads an administrator to the dashboard with its counters', async () => {
  await page.getByRole('button', { name: /Account menu/ }).click()
  await page.getByRole('menuitem', { name: 'Administration' }).click()
  await page.waitForURL(/\/admin\/dashboard$/)
  await heading('Dashboard')
  const nav = page.getByRole('navigation', { name: 'Administration' })
  expect(await nav.getByRole('link').allInnerTexts()).toEqual([
    'Dashboard',
    'Users',
    'Event Log',
    'Actions Log',
    'Cluster',
  ])
  const uptime = page.getByRole('row', { name: /harbour-1/ }).locator('[data-k="Uptime"]')
  const first = await uptime.innerText()
  expect(first).toMatch(/^\d+ (s|min)$/)
  // The shown uptime increases from one answer of the hub to the next.
  await expect.poll(() => uptime.innerText(), { timeout: 90_000 }).not.toBe(first)
  await expect
    .poll(() => page.locator('.Stats-stats > div').allInnerTexts())
    .toEqual([
      'Devices\n0\n0 connected',
      'Projects\n1\nin 1 organization',
      'Users\n1\n1 administrator',
      'Cluster Nodes\n1',
    ])
  await expectGoodScreen(page, 'admin-dashboard')
})

it('shows why a counter could not be loaded', async () => {
  const mend = await failAction(page, 'instance_GetStatistics', 'The counting room is on fire.')
  await page.reload()
  await expect
    .poll(() => page.locator('.Stats-stats > div').allInnerTexts())
    .toEqual([
      'Devices\n–\nThe counting room is on fire.',
      'Projects\n–\nThe counting room is on fire.',
      'Users\n–\nThe counting room is on fire.',
      'Cluster Nodes\n1',
    ])
  await expectGoodScreen(page, 'admin-dashboard-failed')
  await mend()
})

it('creates a user, who gets a mail to set a password and signs in', async () => {
  // The counters of the dashboard link to the same pages, so the test clicks the link in the navigation.
  await page.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: 'Users' }).click()
  await heading('Users')
  await page.getByRole('button', { name: 'New User' }).click()
  const dialog = page.getByRole('dialog')
  for (const label of ['Email (required)', 'Name (optional)', 'Admin (optional)'])
    await dialog.getByLabel(label, { exact: true }).waitFor()
  await expectGoodScreen(page, 'admin-new-user')
  const create = dialog.getByRole('button', { name: 'Create User' })
  for (const bad of ['', 'mira', '<script>alert(1)</script>@x.y', `${'x'.repeat(300)}@halden.example`]) {
    await dialog.getByLabel('Email (required)').fill(bad)
    await answered('users_CreateUser', () => create.click())
    await dialog
      .getByRole('alert')
      .getByText(/^(Expected an email address|Must have at most \d+ characters)\.$/)
      .waitFor()
  }
  await dialog.getByLabel('Email (required)').fill(stage.admin.email.toUpperCase())
  await answered('users_CreateUser', () => create.click())
  await dialog.getByRole('alert').getByText('User with that email already exists.').waitFor()
  await expectGoodScreen(page, 'admin-new-user-exists')
  const mend = await failAction(page, 'users_CreateUser', '')
  await answered('users_CreateUser', () => create.click())
  await dialog.getByRole('alert').getByText('An error occurred while creating the user.').waitFor()
  await mend()
  await dialog.getByLabel('Email (required)').fill(MIRA.email)
  await dialog.getByLabel('Name (optional)').fill('Mira Okafor')
  await create.click()
  await dialog.waitFor({ state: 'detached' })
  const row = page.getByRole('row', { name: /Mira Okafor/ })
  await row.getByText(MIRA.email).waitFor()
  await row.getByText('No', { exact: true }).waitFor()

  const elsewhere = await stage.newPage()
  await elsewhere.goto(await mailedLink(stage, MIRA.email, '/set-password'))
  await elsewhere.getByLabel('New password (required)', { exact: true }).fill(MIRA.password)
  await elsewhere.getByLabel('Confirm password (required)', { exact: true }).fill(MIRA.password)
  await elsewhere.getByRole('button', { name: 'Set password' }).click()
  await elsewhere.getByText('Password set').waitFor()
  await signIn(elsewhere, stage, MIRA)

  // A person who is no administrator does not see the menu entry `Administration`. Every administration page shows them the
  // hub's refusal.
  await elsewhere.getByRole('button', { name: /Account menu/ }).click()
  await elsewhere.getByRole('menuitem', { name: 'Settings' }).waitFor()
  expect(await elsewhere.getByRole('menuitem', { name: 'Administration' }).count()).toBe(0)
  for (const path of ['dashboard', 'users', 'log', 'actions', 'jobs', 'cluster']) {
    await elsewhere.goto(`${stage.hub.url}/admin/${path}`)
    await elsewhere.getByRole('heading', { level: 1, name: 'Something went wrong!' }).waitFor()
    await elsewhere.getByRole('button', { name: 'Show Error' }).click()
    await elsewhere.getByText(/^ActionError: /).waitFor()
    await elsewhere.getByRole('button', { name: 'Hide Error' }).waitFor()
  }
  await expectGoodScreen(elsewhere, 'admin-refused')
  await elsewhere.context().close()
})

it('makes a user an administrator, sends the mail again, and filters and sorts users on the hub', async () => {
  const row = page.getByRole('row', { name: /Mira Okafor/ })
  await expectGoodMenu(page, 'admin-users', async () => {
    await row.getByRole('button', { name: /More actions/ }).click()
    await page.getByRole('menuitem').first().waitFor()
  })
  await row.getByRole('button', { name: /More actions/ }).click()
  await page.getByRole('menuitem', { name: 'Make administrator' }).click()
  const dialog = page.getByRole('dialog')
  await changeDatabase(stage.hub, "update session set created_at = created_at - interval '20 minutes'")
  await dialog.getByRole('button', { name: 'Make Administrator' }).click()
  await dialog
    .getByRole('alert')
    .getByText(/sign-in is too old/)
    .waitFor()
  await expectGoodScreen(page, 'admin-make-administrator')
  await dialog.getByLabel('Current password (required)', { exact: true }).fill(stage.admin.password)
  await dialog.getByRole('button', { name: 'Make Administrator' }).click()
  await dialog.waitFor({ state: 'detached' })
  await row.getByText('Yes', { exact: true }).waitFor()

  const before = await mailedLink(stage, MIRA.email, '/set-password')
  await row.getByRole('button', { name: /More actions/ }).click()
  await page.getByRole('menuitem', { name: 'Send set-password mail' }).click()
  await page.getByText(`Set-password mail sent to ${MIRA.email}.`).waitFor()
  await expect.poll(() => mailedLink(stage, MIRA.email, '/set-password')).not.toBe(before)

  await page.getByLabel('Filter users').fill('okafor')
  await page.waitForURL(/[?&]q=okafor/)
  const rows = page.getByRole('row').filter({ hasText: 'u_' })
  await expect.poll(() => rows.count()).toBe(1)
  await page.getByLabel('Filter users').fill('nobody at all')
  await page.getByText('No users match this filter.').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByRole('columnheader', { name: 'Email' }).getByRole('button').click()
  await page.waitForURL(/[?&]sort=email/)
  await expect.poll(() => emails()).toEqual([stage.admin.email, MIRA.email])
  await page.getByRole('columnheader', { name: 'Email' }).getByRole('button').click()
  await page.waitForURL(/[?&]sort=-email/)
  await expect.poll(() => emails()).toEqual([MIRA.email, stage.admin.email])
  expect(await page.getByRole('columnheader', { name: 'Email' }).getAttribute('aria-sort')).toBe('descending')
  await expectGoodScreen(page, 'admin-users')

  // C32: on phones the first line of a card is the name, not the id.
  await page.setViewportSize({ width: 390, height: 844 })
  const card = page.getByRole('row').filter({ hasText: MIRA.email })
  const topOf = async (cell: string) => (await card.locator(cell).boundingBox())!.y
  await expect.poll(async () => (await topOf('[data-title]')) < (await topOf('[data-k="Id"]'))).toBe(true)
  await page.setViewportSize({ width: 1440, height: 1000 })
})

it('I8: sets the address of a user', async () => {
  const more = page.getByRole('button', { name: `More actions for ${MIRA.email}` })
  await more.click()
  await page.getByRole('menuitem', { name: 'Change email' }).click()
  const dialog = page.getByRole('dialog', { name: 'Change Email' })
  await dialog.getByLabel('Email (required)').fill('mira@new.example')
  await expectGoodScreen(page, 'users-set-email')
  await dialog.getByRole('button', { name: 'Change Email' }).click()
  // The test before has made the sign-in old.
  const password = dialog.getByLabel('Current password (required)', { exact: true })
  await password.fill(stage.admin.password)
  await dialog.getByRole('button', { name: 'Change Email' }).click()
  await page.getByText(`The address of ${MIRA.email} is mira@new.example now.`).waitFor()
  await page.getByRole('button', { name: 'More actions for mira@new.example' }).click()
  await page.getByRole('menuitem', { name: 'Change email' }).click()
  await dialog.getByLabel('Email (required)').fill(MIRA.email)
  await dialog.getByRole('button', { name: 'Change Email' }).click()
  await password.fill(stage.admin.password)
  await dialog.getByRole('button', { name: 'Change Email' }).click()
  await more.waitFor()
})

it('S18: disables and enables a user, and ends their sessions', async () => {
  const row = page.getByRole('row', { name: /Mira Okafor/ })
  const choose = async (item: string): Promise<void> => {
    await row.getByRole('button', { name: /More actions/ }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  const dialog = page.getByRole('dialog')
  await choose('Disable user')
  await expectGoodScreen(page, 'admin-disable-user')
  await dialog.getByRole('button', { name: 'Disable User' }).click()
  await dialog.waitFor({ state: 'detached' })
  await row.getByText('Disabled', { exact: true }).waitFor()
  await expectGoodScreen(page, 'admin-users-disabled')
  const elsewhere = await stage.newPage()
  await elsewhere.goto(`${stage.hub.url}/login`)
  await elsewhere.getByLabel('Email').fill(MIRA.email)
  await elsewhere.getByLabel(/^Password/).fill(MIRA.password)
  await elsewhere.getByRole('button', { name: 'Log in' }).click()
  await elsewhere.getByText('Invalid username or password!').waitFor()

  await choose('Enable user')
  await dialog.getByRole('button', { name: 'Enable User' }).click()
  await dialog.getByLabel('Current password (required)', { exact: true }).fill(stage.admin.password)
  await dialog.getByRole('button', { name: 'Enable User' }).click()
  await dialog.waitFor({ state: 'detached' })
  await row.getByText('Disabled', { exact: true }).waitFor({ state: 'detached' })
  await signIn(elsewhere, stage, MIRA)
  await choose('End sessions')
  await page.getByText(`Sessions of ${MIRA.email} ended.`).waitFor()
  await elsewhere.goto(`${stage.hub.url}/settings/profile`)
  await elsewhere.waitForURL(/\/login/)
  await elsewhere.context().close()
})

it('deletes a user without confirmation, but not the last administrator', async () => {
  const questions: string[] = []
  const dismiss = (question: Dialog): void => {
    questions.push(question.message())
    void question.dismiss()
  }
  page.on('dialog', dismiss)
  await page.getByRole('button', { name: `Delete user ${MIRA.email}` }).click()
  await page.getByText(`User ${MIRA.email} deleted.`).waitFor()
  await expect.poll(() => emails()).toEqual([stage.admin.email])
  await page.getByRole('button', { name: `Delete user ${stage.admin.email}` }).click()
  await page.getByRole('alert').getByText('Could not delete the user').waitFor()
  expect(await emails()).toEqual([stage.admin.email])
  await page.getByRole('button', { name: 'Dismiss' }).last().click()
  expect(questions).toEqual([])
  page.off('dialog', dismiss)
})

it('shows events with their actors in the event log, filters and exports them', async () => {
  await page.getByRole('link', { name: 'Event Log' }).click()
  await heading('Event Log')
  expect(await heads()).toEqual([
    'ID',
    'Timestamp',
    'Type',
    'Actor',
    'Data',
    'Action/Job id',
    'What happened',
  ])
  const created = page
    .getByRole('row', { name: /users_Created/ })
    .filter({ hasText: MIRA.email })
    .and(page.locator('tr:not([data-detail])'))
  await created.getByText(/^audit_act_/).waitFor()
  await created.getByText('User', { exact: true }).waitFor()
  await created.getByText(`Administrator created the account ${MIRA.email}`).waitFor()
  await page.getByRole('row', { name: /projects_Created/ }).waitFor()
  // The log does not repeat the project's id in the details of an event.
  expect(await page.getByRole('table').innerText()).not.toContain('"projectId"')
  await page
    .getByRole('heading', { name: /^\w+day,? \d+ \w+ \d{4}$/ })
    .first()
    .waitFor()
  expect(await page.locator('td time').allInnerTexts()).toSatisfy((times: string[]) =>
    times.every(text => /^\d\d:\d\d:\d\d$/.test(text)),
  )
  await expectGoodScreen(page, 'admin-log')
  await created.getByRole('button', { name: /^Details of .* audit_ev_/ }).click()
  await page.locator('tr[data-detail]').getByText('"email": ').waitFor()
  await expectGoodScreen(page, 'admin-log-open')

  await filterBy('Kind', 'users_Created')
  await page.waitForURL(/[?&]type=users_Created/)
  await expect.poll(() => types()).toEqual(['users_Created'])
  const [exported] = await Promise.all([page.waitForEvent('download'), download('CSV')])
  const csv = await readFile(await exported.path(), 'utf8')
  expect(csv.trimEnd().split('\r\n')).toHaveLength(3)
  expect(csv).toContain(MIRA.email)
  const [lines] = await Promise.all([page.waitForEvent('download'), download('JSON Lines')])
  const json = (await readFile(await lines.path(), 'utf8')).trimEnd().split('\n')
  expect(json.map(line => (JSON.parse(line) as { event: string }).event)).toEqual([
    'users_Created',
    'users_Created',
  ])

  // An event type that is not in the list can be typed into the filter.
  await filterBy('Kind', 'devices_Deleted')
  await page.getByText('No entries match this filter.').waitFor()
  await expectGoodScreen(page, 'admin-log-nothing')
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.waitForURL(url => url.search === '')

  await filterBy('Actor', stage.admin.email)
  await page.waitForURL(/[?&]actor=/)
  await expect.poll(() => actors()).toEqual(['User'])
  await page.goto(`${stage.hub.url}/admin/log?from=2020-01-01&to=2020-01-31`)
  await page.getByText('No entries match this filter.').waitFor()
  await page
    .getByRole('button', { name: /^Time/ })
    .filter({ hasText: '1 Jan 00:00 to 1 Feb 00:00' })
    .waitFor()
  await page.goto(`${stage.hub.url}/admin/log?from=2020-01-01`)
  await created.waitFor()
})

it('C26: shows attempted actions and their outcome in the actions log', async () => {
  await page.getByRole('link', { name: 'Actions Log' }).click()
  await heading('Actions Log')
  expect(await heads()).toEqual(['ID', 'Type', 'Actor', 'Data', 'Status', 'Timestamp', 'What happened'])
  const refused = page.getByRole('row', { name: /users_Delete/ }).filter({ hasText: 'Failed' })
  await refused.waitFor()
  await expectGoodScreen(page, 'admin-actions')
  await refused.getByRole('button', { name: /^Details of / }).click()
  await refused.locator('xpath=following-sibling::tr[1]').getByText('Timestamp').waitFor()
  await page.getByRole('button', { name: 'Rejected', exact: true }).click()
  await page.waitForURL(/[?&]status=Rejected/)
  await expect.poll(async () => [...new Set(await cells('Status'))]).toEqual(['Rejected'])
  await page.getByRole('button', { name: /^Kind/ }).click()
  await page
    .getByRole('dialog', { name: 'Kind' })
    .getByRole('button', { name: 'Accounts', exact: true })
    .click()
  await page.waitForURL(/[?&]kind=account/)
})

it('C32, C33: shows jobs, which are not in the navigation, and the nodes of the cluster', async () => {
  await page.goto(`${stage.hub.url}/admin/jobs`)
  await heading('Jobs')
  expect((await heads()).slice(0, 8)).toEqual([
    'ID',
    'Timestamp',
    'Type',
    'Queued',
    'Status',
    'Duration',
    'Attempts',
    'Last error or progress',
  ])
  await page.getByRole('row').filter({ hasText: /^job_/ }).filter({ hasText: 'Completed' }).first().waitFor()
  await expectGoodScreen(page, 'admin-jobs')
  // `/` focuses the filter, as on every page with one.
  await page.keyboard.press('/')
  await page.locator('[aria-label="Filter by type"]:focus').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Cancelled', exact: true }).click()
  await page.waitForURL(/[?&]status=Cancelled/)
  await page.getByText('No cancelled jobs in the last 24 hours.').waitFor()

  await page.getByRole('link', { name: 'Cluster' }).click()
  await heading('Cluster')
  expect(await heads()).toEqual(['Id', 'Name', 'Uptime', 'State', 'Version', 'Devices', 'Clock'])
  expect(await page.getByRole('button', { name: 'Rebalance' }).count()).toBe(0)
  await page
    .getByRole('row', { name: /harbour-1/ })
    .getByText(/^\d+ (s|min)$/)
    .waitFor()

  // The hub of this test is the only node, so database rows represent the other nodes.
  await changeDatabase(
    stage.hub,
    `insert into cluster_node (node_id, name, last_heartbeat, left_at, evicted_at, draining_at, clock_ahead_ms)
      values ('cluster_node_${'2'.repeat(22)}', 'harbour-2', now() + interval '1 day', null, null, now(), 7400),
             ('cluster_node_${'3'.repeat(22)}', 'harbour-3', now() - interval '1 hour', now(), now(), null, 0)`,
  )
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByRole('row', { name: /harbour-2 .*Draining.* 7 s ahead/ }).waitFor()
  await page.getByRole('row', { name: /harbour-3 .*Dead.*1 hour ago/ }).waitFor()
  await expectGoodScreen(page, 'admin-cluster')
  await page.getByRole('button', { name: 'Rebalance' }).click()
  const question = page.getByRole('dialog', { name: 'Rebalance devices' })
  await question.getByText('at most 1 % of their devices a minute', { exact: false }).waitFor()
  await expectGoodScreen(page, 'admin-rebalance')
  await question.getByLabel(/^Fast/).check()
  const [started] = await Promise.all([
    page.waitForRequest(/cluster_StartRebalance/),
    question.getByRole('button', { name: 'Rebalance' }).click(),
  ])
  expect(started.postDataJSON()).toEqual({ fast: true })
  await page.getByText('No node has a surplus of devices.').waitFor()
  await changeDatabase(stage.hub, "delete from cluster_node where name in ('harbour-2', 'harbour-3')")
})

it('shows the events of a project in its audit log', async () => {
  await page.goto(stage.hub.url)
  await page.getByRole('link', { name: 'First project' }).click()
  await page.getByRole('link', { name: 'Audit Log' }).click()
  await heading('Audit Log')
  expect(await heads()).toEqual(['Timestamp', 'What happened', 'Type', 'Actor', 'Action/Job id'])
  await expect.poll(() => types()).toContain('projects_DeploymentTokenCreated')
  expect(await page.getByRole('table').innerText()).not.toContain('projectId')
  await expectGoodScreen(page, 'project-log')
  const [exported] = await Promise.all([page.waitForEvent('download'), download('JSON Lines')])
  expect(exported.suggestedFilename()).toMatch(/\.jsonl$/)
  expect(await readFile(await exported.path(), 'utf8')).toContain('projects_DeploymentTokenCreated')

  const url = '**/invoke/projects_QueryAuditLog'
  await page.route(url, route => route.fulfill({ status: 400, json: { kind: 'Invalid', message: 'No.' } }))
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByRole('alert').getByText('Could not load entries.').waitFor()
  // The entries of the last successful refresh stay on screen.
  expect(await types()).toContain('projects_DeploymentTokenCreated')
  await page.unroute(url)
  await page.route(url, route => route.fulfill({ json: { events: [], total: 0 } }))
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByText('Nothing has happened here yet.', { exact: true }).waitFor()
  await expectGoodScreen(page, 'project-log-empty')
  expect(stage.faults).toEqual([])
})

/** Runs `act`, which makes the open dialog send an action. Resolves when the dialog has processed the answer. */
async function answered(action: string, act: () => Promise<void>) {
  await Promise.all([page.waitForResponse(`**/invoke/${action}`), act()])
  await page.locator('dialog[aria-busy=false]').waitFor()
}

const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

async function heads(): Promise<string[]> {
  const names = await page.getByRole('columnheader').allInnerTexts()
  return names.filter(name => name !== 'Actions')
}

const cells = async (label: string) => await page.locator(`td[data-k="${label}"]`).allInnerTexts()
const emails = () => cells('Email')
const types = async () => [...new Set(await cells('Type'))].sort()
const actors = async () => [...new Set(await cells('Actor'))].sort()

/** Types a text into the find box of a filter and presses Enter. */
async function filterBy(filter: string, text: string) {
  await page.getByRole('button', { name: new RegExp(`^${filter}`) }).click()
  await page.getByRole('dialog', { name: filter }).getByRole('searchbox').fill(text)
  await page.keyboard.press('Enter')
}

/** Starts an export in this format. */
async function download(format: string) {
  await page.getByRole('button', { name: 'Export' }).click()
  await page.getByRole('menuitem', { name: format, exact: true }).click()
}
