import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import { expectGoodScreen, failAction, openStage, type Stage } from './people.ts'

/** Long, as the file names of some machines are. */
const LOST_BACKUP = `/srv/backups/${'of-the-hub-of-the-harbour-'.repeat(4)}/muster-2026-11-25.backup`
const FAILED_JOB = 'job_20261121-1200-abcdefgh'

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

const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

/** Inserts a failed job that mails a link. The token of the link does not exist, so a further attempt has nothing to do and completes. */
async function insertFailedJob() {
  await changeDatabase(
    stage.hub,
    `insert into pgboss.job (name, data, state, started_on, completed_on, retry_limit, retry_count, output)
     values ('users_SendPasswordEmail', '{"jobId":"${FAILED_JOB}","jwtId":"gone"}', 'failed', now() - interval '40 s', now(), 5, 0,
             '{"message":"the mail server refused mira@halden.example: 550 no such mailbox"}')`,
  )
}

it('leads from the dashboard to a failed job, says why it failed and retries it, in 4 steps', async () => {
  await insertFailedJob()
  const steps: string[] = []
  const step = async (what: string, act: Promise<unknown>) => {
    await act
    steps.push(what)
  }
  await step('account menu', page.getByRole('button', { name: /Account menu/ }).click())
  await step('Administration', page.getByRole('menuitem', { name: 'Administration' }).click())
  await heading('Dashboard')
  const needs = page.getByRole('region', { name: 'Needs attention' })
  const problem = needs.getByRole('listitem').filter({ hasText: 'A link to set a password was not sent.' })
  await problem.getByText('The mail server refused mira@halden.example: 550 no such mailbox.').waitFor()
  await expectGoodScreen(page, 'admin-dashboard-problem')
  await step('Open the job', problem.getByRole('link', { name: 'Open the job' }).click())
  await heading('Jobs')
  const detail = page.locator('tr[data-detail]')
  await detail.getByText('A link to set a password was not sent.').waitFor()
  await detail.getByText('The mail server refused mira@halden.example: 550 no such mailbox.').waitFor()
  await expectGoodScreen(page, 'admin-job-failed')
  await step('Retry now', detail.getByRole('button', { name: 'Retry now' }).click())
  await page.getByText('Send a link to set a password: queued again.').waitFor()
  const row = page.getByRole('row').filter({ hasText: FAILED_JOB }).first()
  await row.getByText('Completed').waitFor()
  expect(steps).toHaveLength(4)
  await page.goto(`${stage.hub.url}/admin/dashboard`)
  await needs.waitFor()
  expect(await problem.count()).toBe(0)
})

it('C31: keeps the other parts of the dashboard when one cannot be read, and lists that there is no backup', async () => {
  let state = 'Missing'
  await page.route('**/invoke/instance_GetHealth', async route => {
    const response = await route.fetch()
    const health = (await response.json()) as { problems: object[] }
    const database = { failure: 'The database answered: canceling statement due to statement timeout.' }
    const takenAt = '2026-11-25T02:30:00.000Z'
    const last = { takenAt, sizeBytes: 5 * 1024 ** 3, isVerified: false, file: { path: LOST_BACKUP, state } }
    const lost = { kind: 'BackupLost', level: 'bad', takenAt, path: LOST_BACKUP, state }
    const never = { kind: 'BackupMissing', level: 'warn' }
    const problems = [...health.problems, lost, never]
    await route.fulfill({ response, json: { ...health, problems, database, backup: { value: { last } } } })
  })
  await page.reload()
  const panel = page.getByRole('region', { name: 'Database' })
  await panel.getByText('canceling statement due to statement timeout', { exact: false }).waitFor()
  await page.getByRole('region', { name: 'Device events' }).getByText('a second now').waitFor()
  await page.getByText(/^25 November.*, 5\.0 GiB, not restored on trial; its file is gone$/).waitFor()
  await page.getByText(`The file of the last backup is gone: ${LOST_BACKUP}.`).waitFor()
  await page.getByText('This instance was never backed up.').waitFor()
  await expectGoodScreen(page, 'admin-dashboard-part')
  state = 'Changed'
  await page.reload()
  await page.getByText(/, not restored on trial; its file was changed$/).waitFor()
  await page.getByText('The file of the last backup was changed:').waitFor()
  await page.unrouteAll({ behavior: 'wait' })
  await page.route('**/invoke/instance_GetHealth', async route => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...((await response.json()) as object), problems: [] } })
  })
  await page.reload()
  const calm = page.getByText(/^Nothing needs attention\. Checked \d s ago\.$/)
  await calm.waitFor()
  await expectGoodScreen(page, 'admin-dashboard-calm')
  await page.unrouteAll({ behavior: 'wait' })
  const mend = await failAction(page, 'instance_GetHealth', 'The thermometer is broken.')
  await page.reload()
  await page.getByRole('alert').getByText('The thermometer is broken.').waitFor()
  await page.locator('.Stats-stats').getByText('Projects').waitFor()
  await mend()
})

it('lists the projects of all organizations behind the numbers of the dashboard', async () => {
  await page.goto(`${stage.hub.url}/admin/dashboard`)
  await page.locator('.Stats-stats').getByRole('link', { name: 'Devices' }).click()
  await heading('Projects')
  await page.getByRole('link', { name: 'First project' }).waitFor()
  await expectGoodScreen(page, 'admin-projects')
  await page.getByLabel('Filter projects').fill('nothing at all')
  await page.getByText('No projects match this filter.').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByRole('link', { name: 'First project' }).click()
  await heading('Devices')
})

it('C33: filters jobs by kind, status and any time, and orders them', async () => {
  await page.goto(`${stage.hub.url}/admin/jobs`)
  await page.getByRole('heading', { level: 2, name: 'Kinds of jobs' }).waitFor()
  const rows = page.getByRole('row').filter({ hasText: /job_\d{8}/ })
  await rows.first().waitFor()
  await page.getByRole('checkbox', { name: 'Problems first' }).uncheck()
  await page.waitForURL(/[?&]order=time/)
  await page.getByRole('link', { name: 'Send a link to set a password' }).click()
  await page.waitForURL(/[?&]type=users_SendPasswordEmail/)
  await expect
    .poll(async () => [...new Set(await page.locator('td[data-k="Type"] code').allInnerTexts())])
    .toEqual(['users_SendPasswordEmail'])
  const timeButton = page.getByRole('button', { name: /^Time/ })
  const time = page.getByRole('dialog', { name: 'Time' })
  await timeButton.click()
  await time.getByLabel('From, date').fill('2026-01-01')
  await time.getByLabel('To, date').fill('2026-01-02')
  await time.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL(/[?&]from=2026-01-01/)
  await page.getByText('No jobs match this filter.').waitFor()
  await timeButton.click()
  await time.getByRole('button', { name: 'Any time' }).click()
  await time.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL(/[?&]time=all(?!.*from=)/)
  await rows.first().waitFor()
  expect(stage.faults).toEqual([])
})
