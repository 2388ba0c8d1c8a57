import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { addDevices, firstRow, namesOn, numberOf, openDeviceList } from './device-list-stage.ts'
import { changeDatabase } from './hub-child.ts'
import type { Stage } from './people.ts'
import { smallTouchTargets } from './touch-targets.ts'

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
  await touched.locator('tr[data-index] .name').first().waitFor()
  for (const selector of ['.segments button', 'td .button', '.tools .input', '.page-head .button'])
    expect({ selector, height: await height(selector) }).toEqual({ selector, height: 44 })
  expect(await smallTouchTargets(touched)).toEqual([])
  expect((await touched.locator('tr[data-index]').first().boundingBox())?.height).toBe(64)
  const tools = touched.getByRole('button', { name: 'Order, conditions, views, columns, selection, export' })
  await tools.tap()
  await touched.getByRole('menuitemradio', { name: 'By name' }).waitFor()
  expect(await smallTouchTargets(touched, '[role="menu"]')).toEqual([])
  await touched.getByRole('menuitemradio', { name: 'By name' }).tap()
  await touched.waitForURL(/sort=name/)
  await tools.tap()
  await touched.getByRole('menuitem', { name: 'Select' }).tap()
  await touched.getByRole('checkbox', { name: 'Select gateway-0001' }).tap()
  // Without scrolling, the bar at the bottom would cover the first rows.
  await touched.evaluate('scrollTo(0, 300)')
  expect(await smallTouchTargets(touched, 'section[aria-label="Selection"], tr[data-index="0"]')).toEqual([])
  await touched.getByRole('button', { name: 'Clear' }).tap()
  await firstRow(touched).click()
  await touched.getByRole('heading', { level: 1, name: 'gateway-0001' }).waitFor()
  for (const selector of [
    '.AnchorNav-nav a',
    'button[aria-label="More actions"]:visible',
    '.page .button:visible',
  ])
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

  await addDevices(stage, 1_001, 1_001)
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByRole('button', { name: '1 new device, show', exact: true }).waitFor()
  await expectSame()
  // With the device added above, 60 devices are new. They do not fit into one page of 50.
  await addDevices(stage, 1_002, 1_060)
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
      if (animationName === 'just-changed') marked.push(target.closest('tr').querySelector('.name').textContent)
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

    await rows.nth(20).locator('.name').focus()
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
    [...cell.querySelectorAll('a, time, .Id-text, .row > *')]
      .filter(part => part.getBoundingClientRect().right > cell.getBoundingClientRect().right + 0.5)
      .map(part => part.textContent)))`
