import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import {
  allowClipboard,
  countingRequests,
  expectGoodScreen,
  invoke,
  openStage,
  organizationOf,
  type Stage,
} from './people.ts'

const DEVICES = 400

let stage: Stage
let page: Page
let organization: string
let project: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  await changeDatabase(
    stage.hub,
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, first_seen)
     select 'd_' || id, project_id, 'd_pk_' || id, sha256(i::text::bytea), 'gateway-' || lpad(i::text, 4, '0'),
            now() - make_interval(mins => i)
       from project, generate_series(1, ${DEVICES}) i, lateral (select left(translate(md5(i::text), '0', 'z'), 22) as id) as named`,
  )
  page = await stage.signedInPage({ prepare: allowClipboard })
  const organizationId = await organizationOf(page)
  organization = `${stage.hub.url}/${organizationId}`
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  project = `${organization}/projects/${projects[0]!.projectId}`
  const made = await invoke(page, 'repositories_Create', { organizationId, name: 'fleet-images' })
  if (made.result !== 'Created') throw new Error(made.result)
  await invoke(page, 'repositories_CreatePackage', { repositoryId: made.repositoryId, name: 'os-image' })
})

beforeEach(async () => {
  page = await stage.signedInPage({ prepare: allowClipboard })
})

afterAll(() => resources.disposeAsync())

it('opens pages with a sequence of two keys, and the devices page only inside a project', async () => {
  await page.goto(`${organization}/projects`)
  await heading('Projects')
  await keys('g', 'r')
  await heading('Repositories')
  await keys('g', 's')
  await heading('Members')
  await keys('g', 'd')
  await keys('g', 'p')
  await heading('Projects')
  await page.goto(`${project}/settings`)
  await heading('Settings')
  await page.getByRole('heading', { name: 'Danger Zone' }).waitFor()
  await expectGoodScreen(page, 'project-settings')
  await keys('g', 'd')
  await page.waitForURL(`${project}/devices`)
  await heading('Devices')
  // A key that follows `g` after more than a second does not complete the sequence.
  await page.keyboard.press('g')
  await page.waitForTimeout(1_200)
  await page.keyboard.press('p')
  await page.waitForTimeout(300)
  expect(page.url()).toBe(`${project}/devices`)
})

it.each([
  ['projects', 'Projects', 'Create Project'],
  ['repositories/', 'Repositories', 'New Repository'],
  ['settings/members', 'Members', 'Invite User'],
  ['../settings/security', 'Security', 'New Token'],
  ['../admin/users', 'Users', 'New User'],
])('opens the create dialog on %s, and restores the focus', async (path, title, name) => {
  await page.goto(new URL(path, `${organization}/`).href)
  await heading(title)
  const button = page.getByRole('button', { name, exact: true })
  await button.waitFor()
  expect(await button.getAttribute('aria-keyshortcuts')).toBe('n')
  await page.keyboard.press('n')
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  // In a text field, shortcut keys are text.
  await page.keyboard.type('nrg p?')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
})

it('refreshes and focuses the filter by keys, but not while a person types', async () => {
  await page.goto(`${project}/devices`)
  await row('gateway-0001').waitFor()
  // A second tab shares the live stream of the first, so it does not ask again for what it missed before the stream opened.
  const tab = await page.context().newPage()
  await tab.goto(`${project}/devices`)
  await tab.getByRole('row').filter({ hasText: 'gateway-0001' }).first().waitFor()
  const asked = await countingRequests(tab, 'projects_QueryDevices', async () => {
    await Promise.all([tab.waitForResponse('**/projects_QueryDevices'), tab.keyboard.press('r')])
  })
  expect(asked).toBe(1)
  await tab.close()
  await page.keyboard.press('/')
  await page.locator('input[type=search]:focus').waitFor()
  await page.keyboard.type('gateway-0042 r?njkc')
  expect(await page.getByLabel('Filter devices').inputValue()).toBe('gateway-0042 r?njkc')
  expect(await page.getByRole('dialog').count()).toBe(0)
  await page.keyboard.press('Escape')
  await row('gateway-0001').waitFor()
  // In an open menu, letters select items and are not shortcuts.
  await page.getByRole('button', { name: /Account menu/ }).click()
  await page.keyboard.press('r')
  await page.keyboard.press('?')
  expect(await page.getByRole('dialog').count()).toBe(0)
  await page.keyboard.press('Escape')
  // Keys with a modifier belong to the browser.
  await page.keyboard.press('Control+Alt+n')
  expect(await page.getByRole('dialog').count()).toBe(0)
})

it('moves between rows of a virtualized table, copies an id and opens a row', async () => {
  await page.goto(`${project}/devices`)
  await row('gateway-0001').waitFor()
  await page.keyboard.press('j')
  await focusIn('gateway-0001')
  await expectGoodScreen(page, 'keyboard-row')
  await page.keyboard.press('k')
  await focusIn('gateway-0001')
  for (let at = 10; at <= 260; at += 10) {
    // Waits until the rows of the next steps are rendered.
    await page.locator('tr[data-index]', { hasText: nameOf(at) }).waitFor({ state: 'attached' })
    for (let step = at === 10 ? 2 : 1; step <= 10; step++) await page.keyboard.press('j')
    await focusIn(nameOf(at))
  }
  const box = (await page.locator('tr:focus').boundingBox())!
  expect(box.y).toBeGreaterThan(56)
  expect(box.y + box.height).toBeLessThanOrEqual(1_000)
  await page.keyboard.press('k')
  await focusIn('gateway-0259')
  await page.keyboard.press('c')
  const id = await page.locator('tr:focus .Id-text').innerText()
  await expect.poll(clipboard).toBe(id)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${project}/devices/${id}`)
  await heading('gateway-0259')
})

it('moves between cards, rows without a visible id and expandable rows', async () => {
  await page.goto(`${organization}/repositories/`)
  await heading('Repositories')
  await page.getByText('1 package').waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await heading('Packages')
  await row('os-image').waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('c')
  await page.getByText(/^\S+ copied\.$/).waitFor()
  await page.keyboard.press('Enter')
  await heading('os-image')
  expect(page.url().split('/').at(-1)).toBe(await clipboard())

  await page.goto(`${project}/log`)
  await row('projects_DeploymentTokenCreated').waitFor()
  // The key `j` skips the headings of days and the expanded details of a row.
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.locator('tr[data-detail]').waitFor()
  await page.keyboard.press('j')
  expect(await page.locator('tr:focus [data-fold]').getAttribute('aria-expanded')).toBe('false')
})

it('lists the shortcuts in a sheet, where they can be turned off permanently', async () => {
  await page.goto(`${project}/tokens`)
  await heading('Tokens')
  await page.keyboard.press('?')
  const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await sheet.waitFor()
  const lines = (await sheet.locator('dl > div').allInnerTexts()).map(line => line.replace(/\s+/g, ' '))
  expect(lines).toEqual([
    'g p Projects',
    'g r Repositories',
    'g d Devices',
    'g s Settings',
    'n New Token',
    'r Refresh',
    'j Next row',
    'k Previous row',
    'Enter Open the row',
    'c Copy the id of the row',
    '? This sheet',
    'Ctrl K Jump to…',
    'Esc Close, or clear the filter',
  ])
  await expectGoodScreen(page, 'keyboard-sheet')
  await sheet.getByRole('switch', { name: 'Shortcuts of single keys' }).click()
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })

  const expectOff = async (): Promise<void> => {
    for (const key of ['n', '?', 'j']) await page.keyboard.press(key)
    await keys('g', 'p')
    await page.waitForTimeout(300)
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(page.url()).toBe(`${project}/tokens`)
    // The palette opens with Ctrl+K, which is not a single key. So its button still announces its shortcut.
    expect(await page.locator('[aria-keyshortcuts]:not([aria-label="Jump to"])').count()).toBe(0)
  }
  await expectOff()
  await page.reload()
  await heading('Tokens')
  await expectOff()
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
  await sheet.getByRole('switch', { name: 'Shortcuts of single keys' }).click()
  await sheet.getByRole('button', { name: 'Close' }).click()
  await page.locator('[aria-label="Keyboard shortcuts"]:focus').waitFor()
  await keys('g', 'p')
  await heading('Projects')

  // On a narrow screen the list of shortcuts is opened from the menu.
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByRole('button', { name: 'Open menu' }).click()
  await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click()
  await sheet.locator('kbd').first().waitFor()
  await page.keyboard.press('Escape')
  await page.setViewportSize({ width: 1440, height: 1000 })
  expect(stage.faults).toEqual([])
})

it('leaves the keys of an input method that composes a character to it', async () => {
  await page.goto(`${project}/devices`)
  const filter = page.getByLabel('Filter devices')
  await filter.fill('gateway-0001')
  await row(nameOf(1)).waitFor()
  await composed(filter, 'Escape')
  expect(await filter.inputValue()).toBe('gateway-0001')
  await filter.press('Escape')
  expect(await filter.inputValue()).toBe('')

  await page.goto(`${project}/log`)
  await page.getByRole('button', { name: /^Kind/ }).click()
  const search = page.getByRole('searchbox', { name: 'Find a kind or type' })
  await search.fill('projects_')
  await composed(search, 'Enter')
  expect(await search.inputValue()).toBe('projects_')
  expect(page.url()).not.toContain('projects_')

  await page.goto(`${project}/devices`)
  await row(nameOf(1)).waitFor()
  await page.keyboard.press('Control+k')
  const palette = page.getByRole('combobox', { name: 'Jump to' })
  await palette.fill('settings')
  await page.getByRole('option').first().waitFor()
  await composed(palette, 'Enter')
  await composed(palette, 'Escape')
  expect(await palette.inputValue()).toBe('settings')
  expect(page.url()).toContain('/devices')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
})

/** Presses a key in a field while an input method composes a character there. */
const composed = (field: Locator, key: string) =>
  field.dispatchEvent('keydown', { key, isComposing: true, bubbles: true, cancelable: true })

const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
const nameOf = (at: number) => `gateway-${String(at).padStart(4, '0')}`
const row = (text: string) => page.getByRole('row').filter({ hasText: text }).first()
const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()')
const focusIn = (text: string) =>
  expect
    .poll(() => page.evaluate<string>('document.activeElement.textContent'), { interval: 5 })
    .toContain(text)

/** Presses keys at once, because the keys of a sequence must follow each other within a second. */
async function keys(...pressed: string[]) {
  await Promise.all(pressed.map(key => page.keyboard.press(key)))
}
