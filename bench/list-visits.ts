import type { Page } from 'playwright-core'
import { launchBrowser } from '../e2e/browser.ts'
import type { BenchHub } from './hub-process.ts'

/** Durations in milliseconds from a user's input until rows are on screen, in ascending order. */
export type Visits = Record<
  'open' | 'status' | 'sort' | 'text' | 'condition' | 'sortLastSeen' | 'sortProperty',
  number[]
>

/**
 * Browser script that returns the encoded size, in bytes, of all JavaScript and CSS files that the page has loaded, cached or
 * not.
 */
const CODE_BYTES = `performance.getEntriesByType('resource')
  .filter(({ name }) => /\\.(js|css)$/.test(name)).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`

/**
 * Opens, filters and sorts a project's devices in a browser `count` times, each time with an empty query cache. Returns the durations
 * and the size of the loaded code in bytes.
 */
export async function visitDevices(
  hub: BenchHub,
  { projectId, name }: { projectId: string; name: string },
  count: number,
): Promise<{ visits: Visits; codeBytes: number }> {
  const browser = await launchBrowser()
  try {
    const context = await browser.newContext({ viewport: { width: 1440, height: 1000 } })
    const page = await context.newPage()
    await page.goto(`${hub.url}/login`)
    await page.getByLabel('Email').fill(hub.signIn.email)
    await page.getByLabel(/^Password/).fill(hub.signIn.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    const project = page.getByRole('link', { name })
    await project.waitFor()
    const projects = page.url()
    let codeBytes = 0
    const visits: Visits = {
      open: [],
      status: [],
      sort: [],
      text: [],
      condition: [],
      sortLastSeen: [],
      sortProperty: [],
    }
    for (let at = 0; at < count; at++) {
      await page.goto(projects)
      await project.waitFor()
      // Removes the sort order of the last visit, which the hub stores. So the first list of each visit has the default sort order.
      await page.evaluate(KEEP_NOTHING, projectId)
      visits.open.push(await timed(page, 'click', () => project.click()))
      if (at === 0) {
        // The code of the page of projects does not count, that of the connected devices of the last 24 h does.
        await page.reload()
        await page.getByText('Connected, last 24 h').waitFor()
        codeBytes = await page.evaluate<number>(CODE_BYTES)
      }
      visits.status.push(
        await timed(page, 'click', () =>
          page.getByRole('button', { name: 'Disconnected', exact: true }).click(),
        ),
      )
      visits.sort.push(
        await timed(page, 'click', () => page.getByRole('button', { name: 'Name', exact: true }).click()),
      )
      // A second click on the same button removes the filter.
      await page.getByRole('button', { name: 'Disconnected', exact: true }).click()
      await settled(page, 'status')
      visits.text.push(await timed(page, 'address', () => page.getByLabel('Filter devices').fill(`-09${at}`)))
      await page.getByLabel('Filter devices').fill('')
      await settled(page, 'q')
      await page.getByRole('button', { name: 'Add a condition' }).click()
      await page.getByLabel('Property').fill('version')
      await page.getByLabel('Value').fill(`2.${at % 20}.0`)
      visits.condition.push(
        await timed(page, 'click', () => page.getByRole('button', { name: 'Add', exact: true }).click()),
      )
      const devices = page.url().replace(/\?.*/, '')
      const sortBy = (head: string) =>
        timed(page, 'click', () => page.getByRole('columnheader', { name: head }).getByRole('button').click())
      await page.goto(devices)
      await page.locator('tr[data-index]').first().waitFor()
      visits.sortLastSeen.push(await sortBy('Last seen or connected for'))
      await page.goto(`${devices}?sort=%3Dsite`)
      await page.locator('tr[data-index]').first().waitFor()
      visits.sortProperty.push(await sortBy('site'))
    }
    for (const times of Object.values(visits)) times.sort((a, b) => a - b)
    return { visits, codeBytes }
  } finally {
    await browser.close()
  }
}

/** Waits until the URL lacks a search parameter and the rows of the list without this filter are loaded. */
async function settled(page: Page, parameter: string): Promise<void> {
  await page.waitForURL(url => !url.searchParams.has(parameter))
  await page.locator('table[aria-busy=false] tr[data-index]').first().waitFor()
}

/** Browser script that removes the columns and the sort order that the hub stores for the person. */
const KEEP_NOTHING = `projectId => fetch('/api/v1/actions/invoke/users_SetView', {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ projectId }) })`

/**
 * Milliseconds from the start until the first row of the new table is painted. The start is the click, or with `address` the
 * change of the URL, which happens shortly after the end of typing.
 */
async function timed(page: Page, from: 'click' | 'address', act: () => Promise<void>): Promise<number> {
  await page.evaluate(`window.isFromAddress = ${from === 'address'}; ${WATCH}`)
  await act()
  return page.evaluate<number>('window.measured')
}

const WATCH = `
  window.measured = new Promise((done, failed) => {
    setTimeout(() => failed(new Error('no rows came within 30 s')), 30_000)
    const rows = () => document.querySelector('table')?.tBodies[0]?.textContent ?? ''
    const before = { rows: rows(), address: location.href }
    let started
    if (!isFromAddress)
      addEventListener('click', () => { started = performance.now() }, { capture: true, once: true })
    const look = () => {
      const hasMoved = location.href !== before.address
      if (hasMoved && isFromAddress) started ??= performance.now()
      const hasRows = document.querySelector('table[aria-busy=false] tbody tr[data-index]') && rows() !== before.rows
      // An animation frame callback runs before painting; a task queued from it runs after.
      if (started && hasMoved && hasRows) setTimeout(() => done(performance.now() - started))
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
  undefined`
