import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import { countingRequests, expectGoodMenu, expectGoodScreen, openStage, type Stage } from './people.ts'

const DEVICES = 300
/** SQL for the random part of an id, derived from the number `i` of a device. */
const ID = `left(translate(md5(i::text), '0', 'z'), 22)`
const LAST_ERROR = `'{"state":"failed","failureCount":' || i || ',"targetVersion":"2.23.0","currentVersion":"2.22.4","lastError":"no space on disk ' || i || '"}'`

let stage: Stage
let page: Page
let address: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  const statements = [
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, hostname, first_seen, is_connected, health,
                         last_connected_at, pending_certificates)
     select 'd_' || ${ID}, project_id, 'd_pk_' || ${ID}, decode(md5(i::text), 'hex'),
            case when i % 50 > 0 then 'crane-gw-' || lpad(i::text, 4, '0') end, 'stk-gw-' || i,
            now() - make_interval(mins => ${DEVICES} - i), i % 10 > 0, case i % 25 when 1 then 'degraded' when 2 then 'error' end,
            now() - make_interval(hours => i % 70 + 1), case when i % 40 = 7 then 1 else 0 end
       from project, generate_series(1, ${DEVICES}) i`,
    `insert into device_property (device_id, name, value, value_json, value_bytes)
     select 'd_' || ${ID}, name, value::text::json, value, octet_length(value::text)
       from generate_series(1, ${DEVICES}) i,
            lateral (values ('app.modem', jsonb_build_object('signal', -50 - i % 60, 'operator', 'Nordlink')),
                            ('app.modem.operator', to_jsonb((array['Nordlink', 'Nordlink', 'Telenord', 'Baltic Mobile'])[i % 4 + 1])),
                            ('app.modem.signal', to_jsonb(-50 - i % 60)),
                            ('app.crane.lastService', to_jsonb('2026-09-' || lpad((i % 28 + 1)::text, 2, '0')))) p (name, value)
      where name <> 'app.modem.operator' or i > 6`,
    `insert into device_property (device_id, name, value, value_json, value_bytes)
     select 'd_' || ${ID}, 'dev.nexigon.ota.status', v::json, v::jsonb, octet_length(v)
       from generate_series(1, ${DEVICES}) i, lateral (select ${LAST_ERROR} as v) t where i % 30 = 5`,
    `insert into device_update (device_id, property_version, current_version, target_version, state, failure_count, error)
     select 'd_' || ${ID}, 1, case when i % 30 = 5 then '2.22.4' else '2.23.0' end, '2.23.0',
            case when i % 30 = 5 then 'failed' else 'completed' end, case when i % 30 = 5 then i else 0 end,
            case when i % 30 = 5 then 'no space on disk #' end
       from generate_series(1, ${DEVICES}) i where i % 9 > 0`,
    `insert into project_status (project_id, sampled_step, connected_counts)
     select project_id, floor(extract(epoch from now()) / 600) + 1,
            (select array_agg(case when i between 66 and 72 then 140 + abs(69 - i) * 30 when i = 100 then null else 274 - i % 3 end)
               from generate_series(0, 143) i)
       from project`,
  ]
  await changeDatabase(stage.hub, statements.join(';\n'))
  page = await stage.signedInPage({ prepare: opened => opened.clock.install() })
  await page.getByRole('link', { name: 'First project' }).click()
  await rows().first().waitFor()
  address = page.url()
})

beforeEach(async () => {
  page = await stage.signedInPage({ prepare: opened => opened.clock.install() })
})

afterAll(() => resources.disposeAsync())

const rows = () => page.locator('tr[data-index]')
const bar = () => page.getByRole('region', { name: 'Selection' })
/** Advances the fake clock by the time after which the page saves the columns and the sort order of the list. */
const passSavingTime = () => page.clock.fastForward(2_000)
const box = (index: number) => rows().nth(index).getByRole('checkbox')

it('shows the connected devices of the last 24 h, and six counts that filter the list', async () => {
  await page.goto(address)
  await page.getByText('Connected, last 24 h').waitFor()
  await page.getByText(/^2 fewer than 24 h ago$/).waitFor()
  await page.getByText(/^140 at \d\d:\d\d, back after/).waitFor()
  const line = page.getByRole('slider', { name: 'Connected devices in the last 24 hours' })
  await line.focus()
  await page.keyboard.press('Home')
  await page.getByText(/^272 at \d\d:\d\d$/).waitFor()
  await expectGoodScreen(page, 'device-list-large')
  // On phones one menu has the tools of the list. A scroll closes it, so the window must be high enough to show the menu's button
  // without scrolling.
  await expectGoodMenu(page, 'device-list', async () => {
    const { width, height } = page.viewportSize()!
    await page.setViewportSize({ width, height: Math.max(height, 640) })
    await page
      .getByRole('button', { name: /^(Export|Order, conditions, views, columns, selection, export)$/ })
      .click()
    await page.getByRole('menuitem').first().waitFor()
  })
  await page.getByRole('button', { name: 'Warning', exact: true }).click()
  await page.getByText('12 of 300 devices').waitFor()
  expect(await page.getByRole('button', { name: 'Warning', exact: true }).getAttribute('aria-pressed')).toBe(
    'true',
  )
  await page.getByRole('button', { name: 'Warning', exact: true }).click()
  await page.getByRole('button', { name: 'Update failed', exact: true }).click()
  await page.getByText('10 of 300 devices').waitFor()
})

it('selects rows by checkbox, by range, by key and as all that match', async () => {
  await page.goto(address)
  await box(1).click()
  await box(4).click({ modifiers: ['Shift'] })
  await bar().getByText('4 selected', { exact: true }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await bar().getByText('5 selected', { exact: true }).waitFor()
  await expectGoodScreen(page, 'device-selection')
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Shift+X')
  await bar().getByText('7 selected', { exact: true }).waitFor()
  await page.keyboard.press('x')
  await page.keyboard.press('k')
  await page.keyboard.press('x')
  await bar().getByText('5 selected', { exact: true }).waitFor()

  // Devices stay selected under a filter that they do not match. Actions apply only to the selected devices that match.
  await page.getByRole('button', { name: 'Disconnected', exact: true }).click()
  await page.getByText('30 of 300 devices').waitFor()
  await bar().getByText('0 of 5 selected match', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Disconnected', exact: true }).click()
  await bar().getByText('5 selected', { exact: true }).waitFor()

  await bar().getByRole('button', { name: 'Select all 300 that match' }).click()
  await bar().getByText('All 300 that match', { exact: true }).waitFor()
  expect(await box(30).isChecked()).toBe(true)
  await bar().getByRole('button', { name: 'Only the 5' }).click()
  await bar().getByText('5 selected', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await bar().waitFor({ state: 'detached' })
  await page.getByRole('checkbox', { name: 'Select all on this list' }).click()
  await bar()
    .getByText(/^(50|100) selected$/)
    .waitFor()
  await bar().getByRole('button', { name: 'Clear' }).click()
  await bar().waitFor({ state: 'detached' })
})

it('keeps selected devices while the hub finds out which of them match the new filter', async () => {
  await page.goto(address)
  await box(1).click()
  await box(2).click()
  await bar().getByText('2 selected', { exact: true }).waitFor()
  const answer = Promise.withResolvers<void>()
  await page.route('**/actions/invoke/projects_QueryDevices', async route => {
    if (route.request().postData()?.includes('deviceIds')) await answer.promise
    await route.continue()
  })
  await page.getByRole('button', { name: 'Disconnected', exact: true }).click()
  await page.getByText('30 of 300 devices').waitFor()
  await bar().getByText('2 selected, checking which match…', { exact: true }).waitFor()
  await box(0).click()
  await bar().getByText('3 selected, checking which match…', { exact: true }).waitFor()
  answer.resolve()
  await bar().getByText('1 of 3 selected match', { exact: true }).waitFor()
  await page.unroute('**/actions/invoke/projects_QueryDevices')
  await page.keyboard.press('Escape')
  await bar().waitFor({ state: 'detached' })
})

it('shows the rows of a filter before their count, and – with its reason if it cannot be counted', async () => {
  const answer = Promise.withResolvers<void>()
  await page.route('**/actions/invoke/projects_QueryDeviceCounts', async route => {
    await answer.promise
    await route.fulfill({ json: { counts: [null, null, 3, null, null] } })
  })
  await page.goto(`${address}?q=crane`)
  await rows().first().waitFor()
  await page.getByText('Counting…', { exact: true }).waitFor()
  answer.resolve()
  await page.getByText('– not counted', { exact: true }).waitFor()
  const failed = page.getByRole('button', { name: 'Update failed', exact: true })
  await failed.getByText('–').waitFor()
  expect(await failed.getAttribute('aria-description')).toBe('Not counted within 2 s.')
  await expectGoodScreen(page, 'device-list-uncounted')
  // All that match can be selected without their number.
  await page.getByRole('checkbox', { name: 'Select all' }).click()
  await bar().getByRole('button', { name: 'Select all that match' }).click()
  await bar().getByText('All that match', { exact: true }).waitFor()
  await bar().getByRole('button', { name: 'Delete all', exact: true }).waitFor()
  await page.unroute('**/actions/invoke/projects_QueryDeviceCounts')
  await page.goto(`${address}?q=crane`)
  await page.getByText('294 of 300 devices').waitFor()
})

it('combines a preset with a health', async () => {
  await page.goto(`${address}?show=error`)
  await page.getByText('12 of 300 devices').waitFor()
  await page.getByRole('button', { name: 'Never updated', exact: true }).click()
  await page.waitForURL(/show=neverUpdated/)
  expect(new URL(page.url()).searchParams.get('health')).toBe('error')
  await page.getByRole('button', { name: 'Error', exact: true }).click()
  await page.waitForURL(url => !url.searchParams.has('health'))
  expect(new URL(page.url()).searchParams.get('show')).toBe('neverUpdated')
})

it('shows chosen properties as columns, in the chosen order and width, and keeps them for the person', async () => {
  await page.goto(address)
  await page.getByRole('button', { name: 'Columns' }).click()
  const chooser = page.getByRole('dialog', { name: 'Columns' })
  await chooser.getByLabel('Find a column or property').fill('last')
  await chooser.getByText('date, for example “2026-09-01”').waitFor()
  await chooser.getByText('Properties that match “last”').waitFor()
  await chooser.getByRole('checkbox', { name: /^dev\.nexigon\.ota\.status\.lastError/ }).check()
  await page.getByText('no space on disk 275', { exact: true }).waitFor()
  await expectGoodScreen(page, 'device-columns')
  await chooser.getByLabel('Find a column or property').fill('')
  await chooser.getByRole('checkbox', { name: 'Id', exact: true }).uncheck()
  await chooser.getByRole('button', { name: 'Move dev.nexigon.ota.status.lastError' }).focus()
  for (let moves = 0; moves < 3; moves++) await page.keyboard.press('ArrowUp')
  const kept = page.waitForResponse(
    response => response.url().endsWith('/users_SetView') && response.request().postData()!.includes('230'),
  )
  await chooser.getByRole('button', { name: 'Done' }).click()
  const heads = () => page.locator('.columns-devices thead th').allInnerTexts()
  const expected = [
    '',
    'Name',
    'First Seen',
    'Status',
    'Pending Certificates',
    'dev.nexigon.ota.status.lastError',
    'Last seen or connected for',
    'Version',
    'Update',
    'Actions',
  ]
  expect((await heads()).map(text => text.trim().replace(/\s+/g, ' '))).toEqual(expected)
  await page.getByRole('separator', { name: 'Width of Status' }).focus()
  for (let steps = 0; steps < 5; steps++) await page.keyboard.press('ArrowRight')
  await passSavingTime()
  expect((await kept).status()).toBe(200)
  const width = async () =>
    Math.round((await page.getByRole('columnheader', { name: 'Status', exact: true }).boundingBox())!.width)
  expect(await width()).toBe(230)

  await page.reload()
  await page.getByText('no space on disk 275', { exact: true }).waitFor()
  expect((await heads()).map(text => text.trim().replace(/\s+/g, ' '))).toEqual(expected)
  expect(await width()).toBe(230)
  await page.getByRole('button', { name: 'Columns' }).click()
  const reset = page.waitForResponse('**/invoke/users_SetView')
  await chooser.getByRole('button', { name: 'Reset' }).click()
  await chooser.getByRole('button', { name: 'Done' }).click()
  await passSavingTime()
  await reset
  expect(await page.getByText('no space on disk 275', { exact: true }).count()).toBe(0)
})

it('suggests properties and values of a condition, and shows the matched value as a column', async () => {
  await page.goto(address)
  await page.getByRole('button', { name: 'Add a condition' }).click()
  const panel = page.getByRole('dialog', { name: 'Add a condition' })
  await panel.getByLabel('Property').fill('modem')
  await panel.getByText('Properties with “modem”').waitFor()
  await panel.getByText('3 of 5').waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await panel.getByText('Values of the 300 devices that match so far').waitFor()
  await panel
    .getByRole('listbox', { name: 'Suggestions' })
    .getByRole('option', { name: /not there/ })
    .waitFor()
  await expectGoodScreen(page, 'device-condition-panel')
  await panel.getByRole('option', { name: /^Telenord/ }).click()
  await panel.getByText('73 of 300 devices will match').waitFor()
  await panel.getByLabel('Value').press('Enter')
  await page.getByText('73 of 300 devices', { exact: true }).waitFor()
  await page.getByRole('columnheader', { name: 'app.modem.operator' }).waitFor()
  await page.getByRole('cell', { name: 'Telenord' }).first().waitFor()

  await page.getByRole('button', { name: 'Change condition: app.modem.operator is Telenord' }).click()
  const change = page.getByRole('dialog', { name: 'Change the condition' })
  await change.getByText('Values of the 300 devices that match so far').waitFor()
  await change.getByRole('option', { name: /^Baltic Mobile/ }).click()
  await change.getByRole('button', { name: 'Change', exact: true }).click()
  await page.getByRole('cell', { name: 'Baltic Mobile' }).first().waitFor()
})

it('keeps the focus on a preset when the summary of a large project arrives', async () => {
  const answer = Promise.withResolvers<void>()
  await page.route('**/invoke/projects_GetSummary', async route => {
    await answer.promise
    await route.continue()
  })
  await page.goto(address)
  await rows().first().waitFor()
  await page.getByRole('button', { name: /^Update failed/ }).focus()
  answer.resolve()
  await page.getByText('Connected, last 24 h').waitFor()
  expect(await page.evaluate<string>('document.activeElement.textContent')).toMatch(/^Update failed/)
  await page.unrouteAll({ behavior: 'wait' })
})

it('does not move the options of a new condition when the hub answers', async () => {
  await page.goto(address)
  await rows().first().waitFor()
  // With the summary of the project the parts above the list get their height.
  await page.getByText('Connected, last 24 h').waitFor()
  const answer = Promise.withResolvers<void>()
  await page.route('**/invoke/projects_QueryPropertyNames', async route => {
    await answer.promise
    await route.continue()
  })
  await page.getByRole('button', { name: 'Add a condition' }).click()
  const panel = page.getByRole('dialog', { name: 'Add a condition' })
  const version = panel.getByRole('option', { name: /^Version/ })
  await panel.getByText('Counting…').waitFor()
  const before = await version.boundingBox()
  answer.resolve()
  await panel.getByText('app.modem.signal').waitFor()
  expect(await version.boundingBox()).toEqual(before)
  await page.unrouteAll({ behavior: 'wait' })
})

it('has conditions on version, update and last seen', async () => {
  await page.goto(address)
  await page.getByRole('button', { name: 'Add a condition' }).click()
  const panel = page.getByRole('dialog', { name: 'Add a condition' })
  await panel.getByRole('option', { name: /^Version/ }).click()
  await panel.getByRole('option', { name: /^2\.22\.4/ }).click()
  await panel.getByText('10 of 300 devices will match').waitFor()
  await panel.getByLabel('Value').press('Enter')
  await page.getByText('10 of 300 devices', { exact: true }).waitFor()
  expect(await page.getByRole('cell', { name: '2.22.4' }).count()).toBe(10)

  await page.getByRole('button', { name: 'Add a condition' }).click()
  await panel.getByLabel('Property').fill('last')
  await panel.getByRole('option', { name: /^Last seen/ }).click()
  expect(await panel.getByLabel('Property').inputValue()).toBe('Last seen')
  await panel.getByRole('option', { name: '24 h' }).click()
  await expectGoodScreen(page, 'device-condition-column')
  await panel.getByLabel('Condition').selectOption('less')
  await panel.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('button', { name: 'Change condition: Last seen is less than 24 h ago' }).click()
  const change = page.getByRole('dialog', { name: 'Change the condition' })
  await change.getByText('10 of 10 devices will match').waitFor()
})

it('sorts by a property and by the time last seen, and keeps the order for the person', async () => {
  await page.goto(`${address}?where=${encodeURIComponent('[["app.modem.signal","less","-107"]]')}`)
  await page.getByText('10 of 300 devices', { exact: true }).waitFor()
  const kept = page.waitForResponse(
    response =>
      response.url().endsWith('/users_SetView') &&
      response.request().postData()!.includes('-=app.modem.signal'),
  )
  const head = () => page.getByRole('columnheader', { name: 'app.modem.signal' })
  await head().getByRole('button').click()
  await page.waitForURL(/[?&]sort=%3Dapp\.modem\.signal/)
  const signals = () => page.locator('.columns-devices td.device-table-property').allInnerTexts()
  const up = ['-109', '-109', '-109', '-109', '-109', '-108', '-108', '-108', '-108', '-108']
  await expect.poll(signals).toEqual(up)
  await head().getByRole('button').click()
  await expect.poll(signals).toEqual(up.toReversed())
  await passSavingTime()
  expect((await kept).status()).toBe(200)
  await expectGoodScreen(page, 'device-list-sorted')

  // Without the filter, the sort order stays and the list still has a column for the property.
  await page.goto(address)
  await expect.poll(async () => (await signals()).slice(0, 6)).toEqual(Array(5).fill('-50').concat('-51'))
  expect(await head().getAttribute('aria-sort')).toBe('descending')

  const last = page.getByRole('columnheader', { name: 'Last seen or connected for' })
  await last.getByRole('button').click()
  await expect.poll(() => last.getAttribute('aria-sort')).toBe('ascending')
  await head().waitFor({ state: 'detached' })
  await expect.poll(() => rows().first().innerText()).toContain('Disconnected')
  const reset = page.waitForResponse('**/invoke/users_SetView')
  const first = page.getByRole('columnheader', { name: 'First Seen' }).getByRole('button')
  await first.click()
  await first.click()
  await passSavingTime()
  expect((await reset).status()).toBe(200)
})

it('says how many devices match without each part of a filter that nothing matches', async () => {
  const where = JSON.stringify([
    ['app.modem.operator', 'equals', 'Telenord'],
    ['app.modem.signal', 'less', '-115'],
  ])
  await page.goto(`${address}?where=${encodeURIComponent(where)}&q=crane`)
  await page.getByText('No devices match this filter.').waitFor()
  await page.getByText('The lowest app.modem.signal in this project is -109.').waitFor()
  await page.getByText('still 0').first().waitFor()
  await expectGoodScreen(page, 'device-list-empty')
  await page.getByRole('button', { name: 'Remove app.modem.signal is less than -115' }).click()
  await rows().first().waitFor()
})

it('counts after the rows, and not again while nothing changes', async () => {
  await page.goto('about:blank')
  const requests = await countingRequests(page, 'projects_QueryDeviceCounts', async () => {
    await page.goto(address)
    await page.getByRole('button', { name: 'Update failed', exact: true }).getByText('10').waitFor()
  })
  expect(requests).toBe(1)
})

it('C21: has room for View and for the words of each column that it shows', async () => {
  await page.goto(address)
  await rows().getByText('Failed 275 times').waitFor()
  await expectWholeRows()
})

/**
 * Waits until no row is cut off at the right edge of the panel, nor a word in its cell, and each time of first contact is whole on one line,
 * at several widths of the window.
 */
async function expectWholeRows() {
  for (const width of [390, 1280, 1360, 1400, 1440, 1600]) {
    await page.setViewportSize({ width, height: 1000 })
    const cut = () =>
      page.evaluate<string[]>(`[...document.querySelectorAll('tr[data-index]')].flatMap(row => {
        const edge = row.closest('.sheet').getBoundingClientRect().right
        const view = row.lastElementChild.firstElementChild.getBoundingClientRect()
        const words = [...row.querySelectorAll('td:is([class*=update], [class*=version]) .truncated')]
          .filter(word => word.checkVisibility({ visibilityProperty: true }) && word.scrollWidth > word.clientWidth)
        const seen = [...row.querySelectorAll('td[class*=seen]')].filter(
          cell => cell.scrollWidth > cell.clientWidth || cell.firstElementChild.getBoundingClientRect().height > 24)
        return [...(view.right > edge ? ['View'] : []), ...[...words, ...seen].map(word => word.textContent)]
      })`)
    await expect.poll(cut, { message: `cut off at ${width}` }).toEqual([])
  }
  await page.setViewportSize({ width: 1440, height: 1000 })
}

it('C29: shows the reasons of failed updates with their counts, and keeps the order with problems first', async () => {
  await page.goto(address)
  await page.getByRole('button', { name: 'Update failed', exact: true }).click()
  await page.getByRole('columnheader', { name: 'Last error' }).waitFor()
  await page.getByText('no space on disk 275', { exact: true }).waitFor()
  const reason = page.getByRole('button', { name: 'no space on disk # 10', exact: true })
  await reason.waitFor()
  await expectWholeRows()
  await expectGoodScreen(page, 'device-list-reasons')
  await reason.click()
  await page.waitForURL(/error=no(\+|%20)space/)
  await reason.click()
  await page.waitForURL(url => !url.searchParams.has('error'))
  await page
    .getByRole('button', { name: 'No preset', exact: true })
    .or(page.getByRole('button', { name: 'All', exact: true }))
    .first()
    .click()
  await page.getByRole('columnheader', { name: 'Last error' }).waitFor({ state: 'detached' })
  const kept = page.waitForResponse(
    response =>
      response.url().endsWith('/users_SetView') && response.request().postData()!.includes('problems'),
  )
  await page.getByRole('button', { name: 'Problems first', exact: true }).click()
  await page.waitForURL(/sort=problems/)
  await rows().first().getByText('Error').waitFor()
  await passSavingTime()
  await kept
  await page.goto(address)
  await rows().first().getByText('Error').waitFor()
  await page.getByRole('button', { name: 'Problems first', exact: true, pressed: true }).click()
  await page.waitForURL(/sort=-firstSeen/)
  await passSavingTime()
})

it('links the failed update of a device to the devices that failed with the same error', async () => {
  await page.goto(`${address}?show=updateFailed`)
  await page.getByText('10 of 300 devices').waitFor()
  await rows().first().locator('a.name').click()
  await page.getByRole('link', { name: '10 devices fail with this error' }).click()
  await page.getByText('10 of 300 devices').waitFor()
  const { searchParams } = new URL(page.url())
  expect([searchParams.get('error'), searchParams.get('target')]).toEqual(['no space on disk #', '=2.23.0'])
  await page
    .getByRole('button', { name: 'Remove condition: update to 2.23.0 failed with no space on disk #' })
    .click()
  await page.getByText('300 devices', { exact: true }).waitFor()
})
