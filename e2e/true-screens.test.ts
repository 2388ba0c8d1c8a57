import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import { invoke, openStage, organizationOf, type Stage, startSession } from './people.ts'

const OTA_STATUS = 'dev.nexigon.ota.status'
const ERROR = 'no space left on device'
/** Devices of the project, of which some report no version. */
const DEVICES = 240
const REPORTING = 220
/** SQL for the random part of an id, derived from the number `i` of a device. */
const ID = `left(translate(md5(i::text), '0', 'z'), 22)`
const nameOf = (i: number) => `warehouse-north-hall-07-gateway-${String(i).padStart(6, '0')}`

let stage: Stage
let page: Page
let organizationId: string
let project: string
let packages: string
let deviceId: string
let versionId: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  page = await stage.newPage()
  await startSession(page, stage)
  organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  const projectId = projects[0]!.projectId
  project = `${stage.hub.url}/${organizationId}/projects/${projectId}`
  const repository = await invoke(page, 'repositories_Create', { organizationId, name: 'fleet' })
  if (repository.result !== 'Created') throw new Error('the repository exists')
  const { repositoryId } = repository
  await invoke(page, 'projects_LinkRepository', { projectId, repositoryId })
  const made = await invoke(page, 'repositories_CreatePackage', { repositoryId, name: 'gateway' })
  if (made.result !== 'Created') throw new Error('the package exists')
  packages = `${stage.hub.url}/${organizationId}/repositories/${repositoryId}/packages/${made.packageId}`
  for (const name of ['0.22.0', '0.23.1']) {
    const version = await invoke(page, 'repositories_CreateVersion', {
      packageId: made.packageId,
      tags: [{ tag: name, locked: true }],
      metadata: { imageVersion: name },
    })
    versionId = version.versionId
  }
  await invoke(page, 'repositories_TagVersion', { versionId, tags: [{ tag: 'stable' }] })
  await changeDatabase(
    stage.hub,
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, first_seen, is_connected, last_connected_at)
     select 'd_' || ${ID}, '${projectId}', 'd_pk_' || ${ID}, sha256(i::text::bytea),
            'warehouse-north-hall-07-gateway-' || lpad(i::text, 6, '0'), now() - i * interval '1 minute', i % 5 <> 0, now()
       from generate_series(1, ${DEVICES}) i`,
  )
  // Devices 1 to 18 fail with the same error, 7 of them to install 0.23.1. Others run it, and 20 report nothing.
  await changeDatabase(
    stage.hub,
    `insert into device_update (device_id, property_version, path, current_version, target_version, state, failure_count, error)
     select 'd_' || ${ID}, 1, 'fleet/gateway/stable', case when i <= 18 then '0.22.0' else '0.23.1' end,
            case when i between 8 and 18 then '0.22.9' else '0.23.1' end, case when i <= 18 then 'failed' else 'completed' end,
            case when i <= 18 then 3 end, case when i <= 18 then '${ERROR}' end
       from generate_series(1, ${REPORTING}) i`,
  )
  const { devices } = await invoke(page, 'projects_QueryDevices', {
    projectId,
    filter: { text: nameOf(1) },
    limit: 1,
  })
  deviceId = devices[0]!.deviceId
  await report(deviceId, { state: 'failed', currentVersion: '0.22.0', failureCount: 3, lastError: ERROR })
})

afterAll(() => resources.disposeAsync())

function report(of: string, status: object) {
  const value = { config: { path: 'fleet/gateway/stable' }, targetVersion: '0.23.1', ...status }
  return invoke(page, 'devices_SetProperty', { deviceId: of, name: OTA_STATUS, value: value as never })
}

it('C19: divides by the devices that report the package, named and the same on every page', async () => {
  const running = REPORTING - 18
  const share = `${Math.round((100 * running) / REPORTING)} %`
  await page.goto(`${project}/software`)
  await page
    .getByText(`${share} of ${REPORTING} devices that report gateway run what stable points to.`)
    .waitFor()
  await page.goto(`${packages}/versions/${versionId}`)
  await page
    .getByRole('heading', { name: `${share} of ${REPORTING} devices that report gateway run it` })
    .waitFor()
  await page.getByText(`of ${REPORTING} that report it`).waitFor()
  await page.goto(packages.replace(/\/[^/]+$/, ''))
  await page.getByText(`${running} of ${REPORTING} that report it`).waitFor()
})

it('C20: counts the devices that fail with an error by the version they try, and links exactly these', async () => {
  await page.goto(`${project}/devices/${deviceId}`)
  const steps = page.getByRole('list', { name: 'Next steps' })
  await steps.getByText(`Of ${REPORTING - 11} that try 0.23.1.`).waitFor()
  await steps.getByRole('link', { name: '18 devices' }).waitFor()
  await steps.getByRole('link', { name: '7 devices fail with this error' }).click()
  await page.getByText(`7 of ${DEVICES} devices`).first().waitFor()
  await page.goBack()
  await steps.getByRole('link', { name: '18 devices' }).click()
  await page.getByText(`18 of ${DEVICES} devices`).first().waitFor()
})

it('C20: shows on the card of a project what its list shows, without waiting for the next sample', async () => {
  const card = page.getByRole('listitem').filter({ hasText: 'First project' }).first()
  await page.goto(`${stage.hub.url}/${organizationId}/projects`)
  await card.getByText(`Update to 0.22.9 failed on 11 devices: ${ERROR}`).waitFor()
  await changeDatabase(
    stage.hub,
    `update device_update set state = 'completed', failure_count = null
      where device_id in (select device_id from device where name between '${nameOf(8)}' and '${nameOf(12)}')`,
  )
  // The counts of a project with many devices are cached for 2 s.
  await expect
    .poll(async () => {
      await page.reload()
      await card.locator('[data-problems]').first().waitFor()
      return card.locator('[data-problems]').first().innerText()
    })
    .toContain(`Update to 0.23.1 failed on 7 devices: ${ERROR}`)
  await card.getByRole('link', { name: '7 devices' }).click()
  await page.getByText(`7 of ${DEVICES} devices`).first().waitFor()
})

it('C21: keeps the ends of long names, and gives the column Name what the others leave', async () => {
  for (const width of [1440, 1280, 1200, 1024]) {
    await page.setViewportSize({ width, height: 1000 })
    await page.goto(`${project}/devices`)
    const rows = page.locator('tr[data-index]')
    await rows.nth(11).waitFor()
    await page.getByRole('link', { name: nameOf(1), exact: true }).waitFor()
    const found = await page.evaluate<
      { namePx: number; name: string; tail: string; isTailShown: boolean }[]
    >(`
      [...document.querySelectorAll('tr[data-index]')].map(row => {
        const cell = row.querySelector('.columns-name'), tail = row.querySelector('[data-cut]').lastChild
        const range = document.createRange()
        range.selectNode(tail)
        const [outer, inner] = [cell.getBoundingClientRect(), range.getBoundingClientRect()]
        return {
          namePx: outer.width, name: row.querySelector('a.name').textContent, tail: tail.textContent,
          isTailShown: inner.width > 0 && inner.right <= outer.right,
        }
      })`)
    expect(found.length).toBeGreaterThan(11)
    for (const { namePx, name, tail, isTailShown } of found) {
      expect(namePx).toBeGreaterThanOrEqual(240)
      expect(name).toMatch(/^warehouse-north-hall-07-gateway-\d{6}$/)
      expect(tail).toBe(name.slice(-8))
      expect(isTailShown).toBe(true)
    }
    // A copied name is one line.
    expect(
      await page.evaluate(`(() => {
        const selection = getSelection()
        selection.selectAllChildren(document.querySelector('tr[data-index] a.name'))
        return selection.toString()
      })()`),
    ).toBe(nameOf(1))
    // Status and Update are as wide as their longest words, with the padding of a cell.
    for (const column of width > 1100 ? ['columns-status', 'columns-update'] : ['columns-status']) {
      const spare =
        await page.evaluate<number>(`Math.min(...[...document.querySelectorAll('tr[data-index] .${column}')].map(cell => {
        const range = document.createRange()
        range.selectNodeContents(cell)
        return cell.getBoundingClientRect().width - range.getBoundingClientRect().width
      }))`)
      // Where room is short, the columns give up space first.
      const isSpacious = await page.locator('table[data-without=""]').isVisible()
      const paddingPx = width > 1100 && isSpacious ? 20 : 12
      expect(spare).toBeGreaterThanOrEqual(paddingPx - 2)
      expect(spare).toBeLessThanOrEqual(paddingPx + 8)
    }
  }
  // With few columns there is room for whole ids.
  await page.setViewportSize({ width: 1440, height: 1000 })
  await page.goto(`${project}/devices`)
  await page.getByRole('button', { name: 'Columns', exact: true }).click()
  for (const name of ['Last seen or connected for', 'Version', 'Update'])
    await page.getByRole('checkbox', { name, exact: true }).click()
  await page.keyboard.press('Escape')
  await page.locator('table.columns-wholeIds').waitFor()
  expect(
    await page.evaluate(`[...document.querySelectorAll('tr[data-index] .columns-id .truncated, tr[data-index] [data-cut] .truncated')]
      .filter(part => part.scrollWidth > part.clientWidth).length`),
  ).toBe(0)
})

/** Pages whose parts load one by one, each with an element that its last part shows. */
const LOADING: [name: string, path: () => string, ready: string][] = [
  ['devices', () => `${project}/devices`, '.segments button > span[aria-hidden]:not(:empty)'],
  ['device', () => `${project}/devices/${deviceId}`, '.problem-box'],
  ['projects', () => `${stage.hub.url}/${organizationId}/projects`, '[data-problems]'],
  ['version', () => `${packages}/versions/${versionId}`, 'section[aria-label="Devices"]'],
  ['package', () => packages, 'tbody tr:not([data-skeleton])'],
  ['sessions', () => `${stage.hub.url}/settings/sessions`, 'tbody tr:not([data-skeleton])'],
  ['dashboard', () => `${stage.hub.url}/admin/dashboard`, '.Stats-stats'],
]

/** Finds elements that move while they are visible. An element that another one replaces does not move. */
const WATCH = `
  window.moved = []
  const seen = new Map()
  const ANCHORS = '#boot, .banner, .topbar, .topbar nav, h1, h2, .tools, .Stats-stats, .FleetSheet-fleet, .fleet-place, .sheet, thead, tr[data-index="0"], main nav'
  window.look = () => {
    for (const element of document.querySelectorAll(ANCHORS)) {
      const { top, left, width, height } = element.getBoundingClientRect()
      const isShown = height > 0 && width > 0 && top < innerHeight && getComputedStyle(element).visibility === 'visible'
      const before = seen.get(element)
      if (before && isShown && (Math.abs(before.top - top) > 2 || Math.abs(before.left - left) > 2))
        moved.push(element.tagName + '.' + element.className + ' from ' + [before.left, before.top].map(Math.round) + ' to ' + [left, top].map(Math.round))
      if (isShown) seen.set(element, { top, left })
      else seen.delete(element)
    }
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)`

it.each(LOADING)(
  'C22: moves nothing while the answers of a page come one by one: %s',
  async (_, path, ready) => {
    for (const width of [1440, 390]) {
      const context = await page
        .context()
        .browser()!
        .newContext({
          viewport: { width, height: width === 390 ? 844 : 1000 },
          storageState: await page.context().storageState(),
          serviceWorkers: 'block',
        })
      await using _closed = { [Symbol.asyncDispose]: () => context.close() }
      await context.addInitScript(WATCH)
      const loading = await context.newPage()
      const held: Route[] = []
      await loading.route('**/api/v1/actions/invoke/**', route => void held.push(route))
      await loading.goto(path(), { waitUntil: 'commit' })
      const shown = loading.locator(ready).first()
      let quiet = 0
      // Ends when the page is complete and no answer has been asked for in 10 rounds.
      while (quiet < 10) {
        const route = held.shift()
        if (route) {
          const finished = loading.waitForEvent('requestfinished', request => request === route.request())
          await route.continue()
          await finished
        }
        await loading.evaluate(
          'new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))))',
        )
        quiet = held.length === 0 && !route && (await shown.isVisible()) ? quiet + 1 : 0
      }
      expect(await loading.evaluate('moved'), `${width} pixels wide`).toEqual([])
    }
  },
)
