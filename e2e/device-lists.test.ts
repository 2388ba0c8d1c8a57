import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import { expectGoodScreen, failAction, invoke, openStage, type Stage } from './people.ts'
import { smallTouchTargets } from './touch-targets.ts'

const DEVICES = 1_000
/** SQL for the random part of an id, derived from the number `i` of a device. */
const ID = `left(translate(md5(i::text), '0', 'z'), 22)`

let stage: Stage
let page: Page
let address: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  await addDevices(1, DEVICES)
  await changeDatabase(
    stage.hub,
    `insert into device_property (device_id, name, value, value_json)
     select 'd_' || ${ID}, name, value::json, value
       from generate_series(1, ${DEVICES}) i,
            lateral (values ('version', to_jsonb('2.' || i % 20 || '.0')), ('floor', to_jsonb(i % 90))) as p (name, value)`,
  )
  page = await stage.signedInPage()
  await page.getByRole('link', { name: 'First project' }).click()
  await firstRow(page).waitFor()
  address = page.url()
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

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
    await page.locator('tr[data-index] .nm').first().waitFor()
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
      `[...document.querySelectorAll('tr[data-index] .nm')].find(link => link.getBoundingClientRect().top > innerHeight / 2)?.innerText ?? ''`,
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

it('does not return to the list if a person opens a device before a typed filter takes effect', async () => {
  await page.goto(address)
  await firstRow(page).waitFor()
  await page.getByLabel('Filter devices').fill('gateway-00')
  await firstRow(page).click()
  await page.getByRole('heading', { level: 1, name: 'gateway-0001' }).waitFor()
  // Waits longer than the delay after which a typed filter takes effect.
  await page.waitForTimeout(600)
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('gateway-0001')
})

it('shows why the totals above the projects could not be loaded', async () => {
  const mend = await failAction(page, 'projects_GetSummary', 'The counting room is on fire.')
  await page.goto(address.replace(/\/p_.*/, ''))
  await expect
    .poll(() => page.locator('.stats > div').allInnerTexts())
    .toEqual(
      ['Devices', 'Connected', 'Disconnected', 'Error', 'Warning', 'Pending certificates'].map(
        label => `${label}\n–\nThe counting room is on fire.`,
      ),
    )
  await expectGoodScreen(page, 'project-sums-failed')
  await mend()
})

it('has touch targets 44 pixels high', async () => {
  const storageState = await page.context().storageState()
  await using phone = await stage.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
    storageState,
  })
  const touched = await phone.newPage()
  const height = async (selector: string) =>
    (await touched.locator(selector).filter({ visible: true }).first().boundingBox())?.height
  await touched.goto(address)
  await touched.locator('tr[data-index] .nm').first().waitFor()
  for (const selector of ['.seg button', 'td .btn', '.tools .input', '.phead .btn'])
    expect({ selector, height: await height(selector) }).toEqual({ selector, height: 44 })
  expect(await smallTouchTargets(touched)).toEqual([])
  expect((await touched.locator('tr[data-index]').first().boundingBox())?.height).toBe(64)
  const tools = touched.getByRole('button', { name: 'Order, conditions, columns, selection, export' })
  await tools.tap()
  await touched.getByRole('menuitemradio', { name: 'By name' }).waitFor()
  expect(await smallTouchTargets(touched, '.menu')).toEqual([])
  await touched.getByRole('menuitemradio', { name: 'By name' }).tap()
  await touched.waitForURL(/sort=name/)
  await tools.tap()
  await touched.getByRole('menuitem', { name: 'Select' }).tap()
  await touched.getByRole('checkbox', { name: 'Select gateway-0001' }).tap()
  // Without scrolling, the bar at the bottom would cover the first rows.
  await touched.evaluate('scrollTo(0, 300)')
  expect(await smallTouchTargets(touched, '.bulk, tr[data-index="0"]')).toEqual([])
  await touched.getByRole('button', { name: 'Clear' }).tap()
  await firstRow(touched).click()
  await touched.getByRole('heading', { level: 1, name: 'gateway-0001' }).waitFor()
  for (const selector of ['.anchor a', 'button[aria-label="More actions"]:visible', '.page .btn:visible'])
    expect({ selector, height: await height(selector) }).toEqual({ selector, height: 44 })
})

it('renders only rows near the viewport, even if 1,000 are loaded', async () => {
  await page.goto(address)
  await firstRow(page).waitFor()
  await expect
    .poll(
      async () => {
        await page.mouse.wheel(0, 20_000)
        return (await names()).includes('gateway-1000')
      },
      { timeout: 30_000 },
    )
    .toBe(true)
  expect((await names()).length).toBeLessThan(100)
  expect(stage.faults).toEqual([])
})

it('keeps rows in place when new devices belong before them, and shows those on a click', async () => {
  await page.goto(`${address}?sort=firstSeen`)
  await page.getByRole('cell', { name: 'gateway-1000', exact: true }).waitFor()
  // The counts above the list come later and move it down.
  await page.getByText('Connected, last 24 h').waitFor()
  const seen = (await names()).slice(0, 50)
  const place = await page.locator('tr[data-index="3"]').boundingBox()
  const expectSame = async (): Promise<void> => {
    expect((await names()).slice(0, 50)).toEqual(seen)
    expect(await page.locator('tr[data-index="3"]').boundingBox()).toEqual(place)
  }

  await addDevices(1_001, 1_001)
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByRole('button', { name: '1 new device, show', exact: true }).waitFor()
  await expectSame()
  // With the device added above, 60 devices are new. They do not fit into one page of 50.
  await addDevices(1_002, 1_060)
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByRole('button', { name: '60 new devices, show', exact: true }).waitFor()
  await expectSame()
  await page.getByText('1,060 devices').waitFor()
  expect(await page.getByRole('table', { name: 'Devices' }).getAttribute('aria-rowcount')).toBe('1001')

  await page.getByRole('button', { name: '60 new devices, show' }).click()
  await page.getByRole('cell', { name: 'gateway-1060', exact: true }).waitFor()
  expect((await names())[0]).toBe('gateway-1060')
  expect(await page.evaluate('document.activeElement.tagName')).toBe('H1')
  expect(await page.getByRole('button', { name: /new devices?, show/ }).count()).toBe(0)

  await changeDatabase(stage.hub, `delete from device where name > 'gateway-1000'`)
  await page.getByRole('button', { name: 'Refresh' }).click()
  await expect.poll(async () => (await names())[0]).toBe('gateway-1000')
})

it('highlights only the state that has just changed', async () => {
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  await page.goto(address)
  await firstRow(page).waitFor()
  await page.evaluate(`
    globalThis.marked = []
    document.addEventListener('animationstart', ({ animationName, target }) => {
      if (animationName === 'just-changed') marked.push(target.closest('tr').querySelector('.nm').textContent)
    })`)
  const expected: string[] = []
  for (let changes = 1; changes <= 2; changes++) {
    await changeDatabase(
      stage.hub,
      `update device set is_connected = not is_connected where name = 'gateway-0002'`,
    )
    await page.getByRole('button', { name: 'Refresh' }).click()
    expected.push('gateway-0002')
    await expect.poll(() => page.evaluate('marked')).toEqual(expected)
  }
  await page.emulateMedia({ reducedMotion: 'reduce' })
})

it('keeps the table header visible, and never hides a focused element below it', async () => {
  await page.goto(address)
  for (const width of [1440, 1024, 959, 821]) {
    await page.setViewportSize({ width, height: 900 })
    await page.evaluate('scrollTo(0, 0)')
    await firstRow(page).waitFor()
    await expect
      .poll(
        async () => {
          await page.mouse.wheel(0, 3_000)
          // A focused row stays rendered even if it is far below the viewport. So the number of the last rendered row is
          // ignored while the page is at the top.
          return (await page.evaluate('scrollY')) === 0 ? 0 : numberOf((await names()).at(-1)!)
        },
        { timeout: 30_000 },
      )
      .toBeGreaterThan(200)
    const head = await page.getByRole('columnheader', { name: 'First Seen' }).boundingBox()
    // The header sticks right below the top bar.
    expect(head).toMatchObject({ y: 56, height: 36 })
    const rows = page.locator('tr[data-index]')
    // Smooth scrolling continues after the wheel events, and a row that leaves the viewport during the scrolling has no
    // bounding box.
    await expect
      .poll(async () => {
        const view = await rows.nth(20).getByRole('link', { name: /^View/ }).boundingBox()
        return view ? view.x + view.width : Infinity
      })
      .toBeLessThan(width)

    await rows.nth(20).locator('.nm').focus()
    for (let back = 0; back < 60; back++) await page.keyboard.press('Shift+Tab')
    const focused = page.locator('tr[data-index] :focus')
    await expect.poll(async () => (await focused.boundingBox())!.y).toBeGreaterThanOrEqual(56 + 36)
  }
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  // An earlier test sorted by name, and the hub stores the sort order. So this click may reverse the sort order.
  await page.waitForURL(/sort=-?name/)
})

it('truncates names at the end of their column at any window width', async () => {
  await changeDatabase(
    stage.hub,
    `update device set name = case when name = 'gateway-0001' then 'gateway-0001 ' || repeat('of the northern hall ', 3) end,
                       hostname = 'display-ghent-' || substr(name, 9)
      where name < 'gateway-0003'`,
  )
  // The URL sets the sort order, because the hub stores another sort order of an earlier test.
  await page.goto(`${address}?sort=-firstSeen`)
  await page.getByText('display-ghent-0002').waitFor()
  for (const width of [1920, 1440, 1366, 1281, 1180, 1024, 960, 900, 821, 820, 390, 320]) {
    await page.setViewportSize({ width, height: 900 })
    // The console may render the layout of a new width some frames after the resize.
    const measured = async () => ({ width, overlaps: await page.evaluate(OVERLAPS) })
    await expect.poll(measured).toEqual({ width, overlaps: [] })
  }
  const name = page.getByRole('cell', { name: /^gateway-0001 of/ })
  expect(await name.locator('[title]').getAttribute('title')).toMatch(
    /^gateway-0001 (of the northern hall ){3}$/,
  )
  expect(stage.faults).toEqual([])
})

/** Script that looks at the first five rows and returns the texts of the elements that overflow their cell to the right. */
const OVERLAPS = `[...document.querySelectorAll('tr[data-index]')].slice(0, 5).flatMap(row =>
  [...row.cells].flatMap(cell =>
    [...cell.querySelectorAll('a, time, .idt, .row > *')]
      .filter(part => part.getBoundingClientRect().right > cell.getBoundingClientRect().right + 0.5)
      .map(part => part.textContent)))`

/** Link of the newest device in the list. The summary above the list links the same device. */
const firstRow = (page: Page) =>
  page.getByRole('table', { name: 'Devices' }).getByRole('link', { name: 'gateway-0001', exact: true })

async function addDevices(first: number, last: number): Promise<void> {
  await changeDatabase(
    stage.hub,
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, first_seen, is_connected)
     select 'd_' || ${ID}, project_id, 'd_pk_' || ${ID}, sha256(i::text::bytea), 'gateway-' || lpad(i::text, 4, '0'),
            now() - i * interval '1 minute', i % 5 <> 0
       from project, generate_series(${first}, ${last}) i`,
  )
}

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

/** Names of the devices whose rows are rendered. */
async function names(): Promise<string[]> {
  await page.locator('tr[data-index] .nm').first().waitFor()
  return page.locator('tr[data-index] .nm').allInnerTexts()
}

function numberOf(name: string): number {
  return Number(name.replace('gateway-', ''))
}
