import { CONSOLE_PATHS } from '@muster/actions'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { REDIRECTS } from './page-actions.ts'
import { expectGoodScreen } from './people.ts'
import { openPopulatedStage, type PopulatedStage } from './populated-stage.ts'

let populated: PopulatedStage
/** Page of the instance's administrator. */
let page: Page
/** Values of the parameters in `CONSOLE_PATHS`. */
let parameters: Record<string, string>
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  populated = resources.use(await openPopulatedStage())
  const { organizationId, projectId, devices, repositoryId, packageId, versionId, webhookId } = populated
  parameters = {
    '{$organization}': organizationId.replace('org_', ''),
    '{$repository}': repositoryId.replace('repo_', ''),
    $projectId: projectId,
    $deviceId: devices.Active,
    $repositoryId: repositoryId,
    $packageId: packageId,
    $versionId: versionId,
    $webhookId: webhookId,
  }
})

beforeEach(async () => {
  page = await populated.stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

const SCREENS = CONSOLE_PATHS.filter(path => !REDIRECTS[path])

it.each(Object.entries(REDIRECTS))('%s leads to …%s', async (path, end) => {
  await page.goto(addressOf(path))
  await page.waitForURL(url => url.pathname.endsWith(end))
  await page.getByRole('heading', { level: 1 }).waitFor()
})

it.each(SCREENS)('shows %s without a fault, in wide and narrow windows', async path => {
  const { faults } = populated.stage
  faults.length = 0
  await page.goto(addressOf(path))
  await page.getByRole('heading', { level: 1 }).waitFor()
  // Sections show skeletons until their data have arrived. The page of designs always shows some.
  const skeletons = page.locator(path === '/design-system' ? '.page[aria-busy="true"]' : '[aria-busy="true"]')
  await expect.poll(() => skeletons.count()).toBe(0)
  await expectGoodScreen(page, `screen${path.replace(/\W+/g, '-')}`)
  expect(faults).toEqual([])
})

/**
 * Limits of a first load with an empty cache: requests for files of the console, and bytes of its JavaScript and CSS as the hub sends them
 * (docs/goals.md P14).
 */
const FIRST_LOADS = [
  { path: '/login', files: 14, codeBytes: 130_000 },
  { path: '/org_{$organization}/projects/$projectId/devices', files: 40, codeBytes: 190_000 },
]
/** Files of the console that the page has requested, with their sizes as sent. */
const LOADED = `performance.getEntriesByType('resource').filter(({ name }) => !new URL(name).pathname.startsWith('/api/'))
  .map(({ name, encodedBodySize }) => ({ name, bytes: encodedBodySize }))`

it.each(FIRST_LOADS)('loads $path with few files and bytes', async ({ path, files, codeBytes }) => {
  const context = await populated.stage.newContext({ serviceWorkers: 'block' })
  if (path !== '/login') await context.addCookies(await page.context().cookies())
  const fresh = await context.newPage()
  await fresh.goto(addressOf(path))
  await fresh.getByRole('heading', { level: 1 }).waitFor()
  await expect.poll(() => fresh.locator('[aria-busy="true"]').count()).toBe(0)
  const loaded = await fresh.evaluate<{ name: string; bytes: number }[]>(LOADED)
  const code = loaded.filter(({ name }) => /\.(js|css)$/.test(name))
  expect(loaded.length, loaded.map(({ name }) => name).join('\n')).toBeLessThanOrEqual(files)
  expect(code.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(codeBytes)
  expect(code.every(({ bytes }) => bytes > 0)).toBe(true)
  await context.close()
})

function addressOf(path: string): string {
  const filled = Object.entries(parameters).reduce((whole, [name, value]) => whole.replace(name, value), path)
  return `${populated.stage.hub.url}${filled}`
}
