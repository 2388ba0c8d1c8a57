import { connectDevice } from '@muster/testkit/device'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import { addPending } from './pending-devices.ts'
import { expectGoodScreen, invoke, openStage, organizationOf, type Stage } from './people.ts'

const CRANES = 'Harbor crane gateways'

let stage: Stage
let page: Page
let address: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  page = await stage.signedInPage()
  const organizationId = await organizationOf(page)
  address = `${stage.hub.url}/${organizationId}/projects`
  for (const name of ['Gate cameras', 'Shore power chargers', 'Weather masts', CRANES]) {
    const { projectId } = await invoke(page, 'projects_Create', {
      organizationId: organizationId as never,
      name,
    })
    await invoke(page, 'projects_CreateDeploymentToken', {
      projectId,
      name: 'factory',
      flags: { autoAccept: false },
    })
  }
  const devices = (project: string, count: number, health: string) =>
    changeDatabase(
      stage.hub,
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, is_connected, health)
       select 'd_' || left(translate(md5(i || project_id), '0', 'z'), 22), project_id, 'd_pk_' || i || project_id,
              sha256(convert_to(i || project_id, 'UTF8')), 'gateway-' || i, i > 12, case when i between 13 and 15 then ${health} end
         from project, generate_series(1, ${count}) i where name = '${project}'`,
    )
  await devices(CRANES, 260, `'error'`)
  await changeDatabase(
    stage.hub,
    `insert into device_update (device_id, property_version, target_version, state, failure_count, error)
     select device_id, 1, '2.23.0', 'failed', 1, 'no space left on device' from device join project using (project_id)
      where project.name = '${CRANES}' order by first_seen, device_id limit 31`,
  )
  await devices('Weather masts', 31, `'degraded'`)
  await devices('Gate cameras', 24, 'null')
  await addPending(
    stage.hub,
    'Shore power chargers',
    3,
    '185.46.212.34',
    'Pending',
    5,
    'Shore power chargers',
  )
  await changeDatabase(
    stage.hub,
    `insert into project_status (project_id, device_count, connected_count, error_count, warning_count, pending_count,
       sampled_step, connected_counts, update_failure)
     select project_id, 0, 0, case name when '${CRANES}' then 3 else 0 end, case name when 'Weather masts' then 3 else 0 end,
            case name when 'Shore power chargers' then 3 else 0 end, floor(extract(epoch from now()) / 600)::bigint + 1,
            case name when '${CRANES}' then array_fill(248, array[30]) || array_fill(200, array[6]) || array_fill(248, array[108])
                      when 'Weather masts' then array_fill(19, array[60]) || array_fill(15, array[12]) || array_fill(19, array[72])
                      else array_fill(12, array[144]) end,
            case name when '${CRANES}'
              then '{"targetVersion":"2.23.0","error":"no space left on device","devices":31}'::jsonb end
       from project where name <> 'First project'
     on conflict (project_id) do update set error_count = excluded.error_count, warning_count = excluded.warning_count,
       pending_count = excluded.pending_count, sampled_step = excluded.sampled_step,
       connected_counts = excluded.connected_counts, update_failure = excluded.update_failure`,
  )
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

const titles = () => page.locator('.Card-title > a:first-child').allInnerTexts()

it('shows the projects with problems first, each with its problems, its last 24 h and its counts', async () => {
  await page.goto(address)
  const card = page.locator('[data-card]').filter({ hasText: CRANES })
  await card.getByText('Update to 2.23.0 failed on 31 devices: no space left on device').waitFor()
  // The order is final once the summaries of all projects have come.
  await expect
    .poll(async () => (await titles()).slice(0, 3))
    .toEqual([CRANES, 'Weather masts', 'Shore power chargers'])
  await card.getByText('3 devices report an error').waitFor()
  await card
    .getByRole('img', { name: /^Connected devices in the last 24 hours: lowest 200 at \d\d:\d\d, now 248$/ })
    .waitFor()
  await page.getByText('lowest 15 at', { exact: false }).waitFor()
  await page.getByText('12 of 24 all day').waitFor()
  await page.getByText('3 devices wait for approval').waitFor()
  await expect
    .poll(() => page.locator('.Stats-stats > div').allInnerTexts())
    .toEqual([
      expect.stringMatching(/^Devices\n318/),
      expect.stringMatching(/^Connected\n279\s*88 %$/),
      expect.stringMatching(/^Disconnected\n39$/),
      expect.stringMatching(/^Error\n3\s*in 1 project$/),
      expect.stringMatching(/^Warning\n3\s*in 1 project$/),
      expect.stringMatching(/^Pending certificates\n3\s*in 1 project$/),
    ])
  await expectGoodScreen(page, 'projects-overview')
})

it('leads from a count to the devices of the only such project, or to the list of such projects', async () => {
  // A count leads to the list of projects only when the summaries of several such projects are there.
  const allCounted = () =>
    page
      .locator('.Stats-stats > div')
      .filter({ hasText: 'Disconnected' })
      .getByText('39', { exact: true })
      .waitFor()
  await page.goto(address)
  await allCounted()
  await page.getByText('3 devices report an error').waitFor()
  await page.locator('.Stats-stats').getByRole('link', { name: 'Error' }).click()
  await page.waitForURL(/\/devices\?show=error$/)
  await page.goBack()
  await allCounted()
  await page.locator('.Stats-stats').getByRole('link', { name: 'Disconnected' }).click()
  await page.getByText('Projects with disconnected devices.').waitFor()
  await expect.poll(async () => (await titles()).includes('First project')).toBe(false)
  await expectGoodScreen(page, 'projects-disconnected')
  await page.getByRole('button', { name: 'All projects' }).click()
  await page.getByText('First project').waitFor()
  await page
    .locator('[data-card]')
    .filter({ hasText: CRANES })
    .getByRole('link', { name: '31 devices' })
    .click()
  await page.waitForURL(url => url.searchParams.get('error') === 'no space left on device')
  await page.getByText('Update to 2.23.0 failed with no space left on device').waitFor()
})

it('keeps the chosen order in the address', async () => {
  await page.goto(address)
  await page.getByRole('button', { name: 'Sort Problems first' }).click()
  await page.getByRole('menuitemradio', { name: 'Name' }).click()
  await expect
    .poll(titles)
    .toEqual(['First project', 'Gate cameras', CRANES, 'Shore power chargers', 'Weather masts'])
  expect(new URL(page.url()).search).toBe('?sort=name')
  await page.getByRole('button', { name: 'Sort Name' }).click()
  await page.getByRole('menuitemradio', { name: 'Devices' }).click()
  await expect.poll(async () => (await titles())[0]).toBe(CRANES)
})

it('C31: leads from the small card of a project without devices to the guide, and shows the first device at once', async () => {
  await page.goto(address)
  const card = page.locator('[data-card]').filter({ hasText: 'First project' })
  await card.getByRole('link', { name: 'Connect a device' }).waitFor()
  const heightOf = async (of: Locator) => (await of.boundingBox())!.height
  const whole = page.locator('[data-card]').filter({ hasText: CRANES })
  expect(await heightOf(card)).toBeLessThan(0.7 * (await heightOf(whole)))
  const organizationId = new URL(address).pathname.split('/')[1]!
  const { projects } = await invoke(page, 'organizations_QueryProjects', {
    organizationId: organizationId as never,
    filter: { text: 'First project' },
  })
  const { token } = await invoke(page, 'projects_CreateDeploymentToken', {
    projectId: projects[0]!.projectId,
    name: 'by hand',
    flags: { autoAccept: true },
  })
  await using _device = await connectDevice({ url: stage.hub.url, token })
  await card.getByText('1 connected').waitFor()
  expect(stage.faults).toEqual([])
})
