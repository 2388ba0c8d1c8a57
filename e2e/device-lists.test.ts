import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { firstRow, namesOn, numberOf, openDeviceList } from './device-list-stage.ts'
import { expectGoodScreen, failAction, invoke, type Stage } from './people.ts'

let stage: Stage
let page: Page
let address: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  const opened = resources.use(await openDeviceList())
  stage = opened.stage
  address = opened.address
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

const names = () => namesOn(page)

it('filters by conditions on properties, which are in the URL and can be removed', async () => {
  await page.goto(address)
  await addCondition('version', 'is', '2.7.0')
  await page.getByText('50 of 1,000 devices').waitFor()
  await addCondition('floor', 'is less than', '10')
  const [first] = await names()
  await page.getByText(/^[1-9] of 1,000 devices$/).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Remove condition: version is 2.7.0' }).waitFor()
  await page.getByText(/^[1-9] of 1,000 devices$/).waitFor()
  expect((await names()).length).toBeLessThan(10)
  expect(first).toMatch(/^gateway-/)
  await page.getByRole('link', { name: (await names())[0]!, exact: true }).waitFor()
  await expectGoodScreen(page, 'device-conditions')

  await page.getByRole('button', { name: 'Remove condition: version is 2.7.0' }).click()
  await page.getByText(/^1[0-9]{2} of 1,000 devices$/).waitFor()
  await addCondition('never.set', 'is there')
  await page.getByText('No devices match this filter.').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('1,000 devices').waitFor()
  expect(page.url()).toBe(address)
  // The clicked button `Clear` disappears together with the filter, so the focus moves to the heading.
  expect(await page.evaluate('document.activeElement.innerText')).toBe('Devices')
})

it('exports all devices that match the filter, in the order of the list', async () => {
  await page.goto(`${address}?status=connected&sort=-name`)
  await page.getByText('800 of 1,000 devices').waitFor()
  await page.getByRole('button', { name: 'Export' }).click()
  const [exported] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'CSV', exact: true }).click(),
  ])
  expect(exported.suggestedFilename()).toMatch(/^projects_QueryDevices-\d{4}-\d\d-\d\d\.csv$/)
  const [head, ...rows] = (await readFile(await exported.path(), 'utf8')).trimEnd().split('\r\n')
  expect(head).toContain('deviceId,name,hostname,firstSeen,status')
  expect(rows).toHaveLength(800)
  const exportedNames = rows.map(row => row.split(',')[1]!)
  expect(exportedNames.slice(0, 10)).toEqual((await names()).slice(0, 10))
  expect(exportedNames).toEqual(exportedNames.toSorted().toReversed())
})

it("limits filters to the hub's length, and drops invalid filters from the URL", async () => {
  await page.goto(address)
  await firstRow(page).waitFor()
  const pasted = 'gateway '.repeat(100)
  await page.getByLabel('Filter devices').focus()
  await page.keyboard.insertText(pasted)
  await page.getByText('No devices match this filter.').waitFor()
  expect(await page.getByLabel('Filter devices').inputValue()).toBe(pasted.slice(0, 256))
  await expectGoodScreen(page, 'device-filter-long')
  await page.getByLabel('Filter devices').fill('')
  await page.getByText('1,000 devices').waitFor()

  for (const search of [
    `q=${pasted}`,
    'q=%00',
    'status=asleep',
    'cursor=garbage',
    `cursor=${await nameCursor()}&sort=-name`,
  ]) {
    await page.goto(`${address}?${search}`)
    await page.locator('tr[data-index] .name').first().waitFor()
    await expect.poll(() => new URL(page.url()).search).toMatch(/^(\?sort=-name)?$/)
    await page.getByText('1,000 devices').waitFor()
  }
  const projects = address.replace(/\/p_.*/, '')
  await page.goto(`${projects}?q=${pasted}`)
  await page.getByRole('link', { name: 'First project' }).waitFor()
  await page.goto(`${address.replace(/devices$/, 'log')}?actor=${pasted}&type=${pasted}`)
  await page.getByRole('row', { name: /projects_DeploymentTokenCreated/ }).waitFor()
})

it('shows the errors of an invalid condition and does not add it', async () => {
  await page.goto(address)
  await page.getByRole('button', { name: 'Add a condition' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a condition' })
  await dialog.getByLabel('Condition').selectOption('is less than')
  await dialog.getByLabel('Value').fill('four')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await dialog.getByText('Property must not be empty.').waitFor()
  await dialog.getByText('Please enter a number.').waitFor()
  await expectGoodScreen(page, 'device-condition-dialog')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(page.url()).toBe(address)
})

it('keeps filter, order and position in the URL: a reload shows the same rows and a button to the first', async () => {
  await page.goto(address)
  await page.getByRole('button', { name: 'Connected', exact: true }).click()
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  await page.getByText('800 of 1,000 devices').waitFor()
  // The list writes its scroll position to the URL as `cursor` once scrolling has stopped. The click below scrolls up to a row that is
  // rendered above the viewport. So the test scrolls until even that row is no longer on the first page.
  await expect
    .poll(
      async () => {
        await page.mouse.wheel(0, 3_000)
        await page.waitForURL(/cursor=/, { timeout: 2_000 }).catch(() => {})
        return new URL(page.url()).searchParams.has('cursor') && numberOf((await names())[0]!) > 100
      },
      { timeout: 30_000 },
    )
    .toBe(true)
  const [top] = await names()
  // Name of a device in the lower half of the viewport. A click on a row outside the viewport would scroll the list.
  const nameInView = () =>
    page.evaluate<string>(
      `[...document.querySelectorAll('tr[data-index] .name')].find(link => link.getBoundingClientRect().top > innerHeight / 2)?.innerText ?? ''`,
    )
  // Smooth scrolling may continue after the wheel event, so the name of the row is read until it stays the same.
  let name = ''
  await expect
    .poll(
      async () => {
        const before = name
        name = await nameInView()
        return name !== '' && name === before
      },
      { interval: 300 },
    )
    .toBe(true)
  await page.getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
  await page.goBack()
  await page.getByRole('link', { name, exact: true }).waitFor()
  expect(await page.getByText('The list starts further down.').count()).toBe(0)
  const table = page.getByRole('table', { name: 'Devices' })
  expect(await table.getAttribute('aria-rowcount')).toBe('801')
  await page.reload()
  await page.getByText('The list starts further down.').waitFor()
  const [topAgain] = await names()
  // After a reload at a cursor, the row numbers are unknown, so the table announces none.
  expect(await table.getAttribute('aria-rowcount')).toBe('-1')
  expect(await table.locator('[aria-rowindex]').count()).toBe(0)
  // The list starts after the first page of 50 devices.
  expect(numberOf(topAgain!)).toBeGreaterThan(50)
  expect(Math.abs(numberOf(topAgain!) - numberOf(top!))).toBeLessThan(300)
  await page.getByRole('button', { name: 'From the first device' }).click()
  await firstRow(page).waitFor()
  expect(new URL(page.url()).search).toBe('?status=connected&sort=name')
})

it('shows why the totals above the projects could not be loaded', async () => {
  const mend = await failAction(page, 'projects_GetSummary', 'The counting room is on fire.')
  await page.goto(address.replace(/\/p_.*/, ''))
  await expect
    .poll(() => page.locator('.Stats-stats > div').allInnerTexts())
    .toEqual(
      ['Devices', 'Connected', 'Disconnected', 'Error', 'Warning', 'Pending certificates'].map(
        label => `${label}\n–\nThe counting room is on fire.`,
      ),
    )
  await expectGoodScreen(page, 'project-sums-failed')
  await mend()
})

/** A cursor of the list sorted by name, ascending. */
async function nameCursor(): Promise<string> {
  const [, projectId] = /projects\/(p_\w+)/.exec(address)!
  const { nextCursor } = await invoke(page, 'projects_QueryDevices', {
    projectId: projectId!,
    limit: 5,
    sort: 'name',
  })
  return nextCursor!
}

async function addCondition(property: string, condition: string, value?: string): Promise<void> {
  await page.getByRole('button', { name: 'Add a condition' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a condition' })
  await dialog.getByLabel('Property').fill(property)
  await dialog.getByLabel('Condition').selectOption(condition)
  if (value !== undefined) await dialog.getByLabel('Value').fill(value)
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await page
    .getByRole('button', { name: `Remove condition: ${[property, condition, value ?? []].flat().join(' ')}` })
    .waitFor()
}
