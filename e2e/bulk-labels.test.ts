import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { firstRow, openDeviceList } from './device-list-stage.ts'
import { changeDatabase } from './hub-child.ts'
import { expectGoodScreen, invoke, type Stage } from './people.ts'

let stage: Stage
let page: Page
let address: string
let projectId: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  const opened = resources.use(await openDeviceList())
  stage = opened.stage
  address = opened.address
  projectId = /projects\/(p_\w+)/.exec(address)![1]!
  await changeDatabase(stage.hub, `update device set hostname = replace(name, 'gateway', 'host')`)
})
beforeEach(async () => {
  page = await stage.signedInPage()
})
afterAll(() => resources.disposeAsync())

const row = (number: string) => page.locator('tr[data-index]').filter({ hasText: `gateway-${number}` })
const labelsOf = async (number: string) => {
  const { devices } = await invoke(page, 'projects_QueryDevices', {
    projectId,
    filter: { text: `gateway-${number}` },
    limit: 1,
  })
  return devices[0]!.labels
}
async function select(...numbers: string[]) {
  for (const number of numbers) await page.getByRole('checkbox', { name: `Select gateway-${number}` }).check()
}

it('sets a label on selected devices, with a preview, the result of each, and undo', async () => {
  await page.goto(address)
  await firstRow(page).waitFor()
  const { devices } = await invoke(page, 'projects_QueryDevices', {
    projectId,
    filter: { text: 'gateway-000' },
    limit: 9,
  })
  const idOf = (number: string) => devices.find(({ name }) => name === `gateway-${number}`)!.deviceId
  await invoke(page, 'devices_SetLabels', { deviceId: idOf('0001'), set: { ring: 'early' } })
  await invoke(page, 'devices_SetLabels', { deviceId: idOf('0002'), set: { ring: 'broad', site: 'pier4' } })
  const full = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`k${index}`, 'v']))
  await invoke(page, 'devices_SetLabels', { deviceId: idOf('0003'), set: full })
  await page.reload()
  await row('0002').getByText('broad').waitFor()
  await select('0001', '0002', '0003', '0004')
  await page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Set label…' }).waitFor()
  await page.keyboard.press('l')
  const dialog = page.getByRole('dialog', { name: 'Set label on 4 devices' })
  const key = dialog.getByRole('combobox', { name: 'Key of label 1' })
  await key.fill('ri')
  await page.getByRole('option', { name: /^ring/ }).click()
  const value = dialog.getByRole('combobox', { name: 'Value of label 1' })
  await page.getByRole('option', { name: /^broad/ }).waitFor()
  await expectGoodScreen(page, 'bulk-label-form')
  await value.fill('early')
  const start = dialog.getByRole('button', { name: 'Set label on 2 devices' })
  await start.waitFor()
  const tally = async () => (await dialog.locator('dl').innerText()).split(/\s*\n\s*/)
  expect(await tally()).toEqual(['Will change', '2', 'Have it already', '1', 'Left out', '1'])
  await dialog.getByText('They have 64 labels.').waitFor()
  await expectGoodScreen(page, 'bulk-label-preview')
  await page.keyboard.press('Escape')
  await start.click()
  await dialog.waitFor({ state: 'detached' })
  const bar = page.getByRole('region', { name: 'Selection' })
  await bar.getByText('Label ring is early on 2 of 3 devices').waitFor()
  expect(await labelsOf('0002')).toEqual({ ring: 'early', site: 'pier4' })
  expect(await labelsOf('0004')).toEqual({ ring: 'early' })
  await expectGoodScreen(page, 'bulk-label-outcome')

  await bar.getByRole('link', { name: 'Show the result' }).click()
  const result = page.getByRole('region', { name: 'Label ring is early on 2 of 3 devices' })
  await result.getByText('1 had it already.').waitFor()
  await bar.waitFor({ state: 'detached' })
  await result.getByText(/It can be undone until /).waitFor()
  await result.getByRole('heading', { name: '2 changed' }).waitFor()
  await result.getByRole('row').filter({ hasText: 'gateway-0002' }).getByText('broad').waitFor()
  await expectGoodScreen(page, 'bulk-label-result')
  await result.getByRole('button', { name: 'Export result' }).click()
  const csv = await page.getByRole('menuitem', { name: 'CSV' }).getAttribute('href')
  const text = await page.evaluate<string>(`fetch(${JSON.stringify(csv)}).then(answer => answer.text())`)
  expect(text.split('\n')[0]).toContain('deviceId')
  expect(text).toContain('gateway-0002')
  await page.keyboard.press('Escape')

  await invoke(page, 'devices_SetLabels', { deviceId: idOf('0004'), set: { ring: 'canary' } })
  await result.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('heading', { name: '1 of 2 devices set back' }).waitFor()
  await page.getByText('The newer value stays.').waitFor()
  expect(await labelsOf('0002')).toEqual({ ring: 'broad', site: 'pier4' })
  expect(await labelsOf('0004')).toEqual({ ring: 'canary' })
  await expectGoodScreen(page, 'bulk-label-undone')
  await page.getByRole('button', { name: 'Close the result' }).first().click()
  await firstRow(page).waitFor()
  expect(stage.faults).toEqual([])
})

it('removes a label from all that match, and renames by a pattern', async () => {
  await page.goto(`${address}?q=gateway-002`)
  await page.getByRole('checkbox', { name: 'Select all on this list' }).check()
  await page.getByRole('button', { name: 'Set label…' }).click()
  await page.getByRole('combobox', { name: 'Key of label 1' }).fill('site')
  await page.getByRole('combobox', { name: 'Value of label 1' }).fill('pier2')
  await page.getByRole('button', { name: 'Set label on 10 devices' }).click()
  await page.getByText('Label site is pier2 on 10 devices').waitFor()
  await page.getByRole('button', { name: 'Close the result' }).click()

  await page.getByRole('checkbox', { name: 'Select all on this list' }).check()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await expectGoodScreen(page, 'bulk-more')
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Rename…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Rename 10 devices' })
  const pattern = dialog.getByRole('textbox', { name: 'Pattern' })
  await pattern.fill('{label:site}-{number}')
  await dialog.getByText(/^Column 14: found \{number\}, expected /).waitFor()
  await pattern.fill('{label:ring}-{index}')
  await dialog.getByText('Nothing to do: no device changes.').waitFor()
  await pattern.fill('{label:site}-{index:3}')
  await dialog.getByText('pier2-001').waitFor()
  await expectGoodScreen(page, 'bulk-rename')
  await dialog.getByRole('button', { name: 'Rename 10 devices' }).click()
  await page.getByText('10 devices renamed').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('10 devices set back').waitFor()
  await page.getByRole('button', { name: 'Close the result' }).click()
  await page.locator('tr[data-index]').first().waitFor()

  await page.getByRole('checkbox', { name: 'Select all on this list' }).check()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Remove label…' }).click()
  await page.getByRole('combobox', { name: 'Key of label 1' }).fill('site')
  await page.getByRole('button', { name: 'Remove label from 10 devices' }).last().waitFor()
  await expectGoodScreen(page, 'bulk-label-remove')
  await page.getByRole('button', { name: 'Remove label from 10 devices' }).last().click()
  await page.getByText('Label site removed from 10 devices').waitFor()
  expect(await labelsOf('0021')).toBeUndefined()
  expect(stage.faults).toEqual([])
})

/** A file as spreadsheets of Western Europe write it: semicolons, quotes, Latin-1. */
function file(lines: readonly string[]) {
  return {
    name: 'Pier 4 Geräte.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(`${lines.join('\r\n')}\r\n`, 'latin1'),
  }
}

it('labels the 40 devices of a site from a CSV in 5 steps', async () => {
  await page.goto(address)
  await firstRow(page).waitFor()
  const steps: string[] = []
  async function step(what: string, act: () => Promise<unknown>) {
    steps.push(what)
    await act()
  }
  const numbers = Array.from({ length: 40 }, (_, index) => String(index + 401).padStart(4, '0'))
  const chosen = file(['hostname;site;yard', ...numbers.map(number => `host-${number};pier4;"süd;ost"`)])
  await step('open the menu', () => page.getByRole('button', { name: 'Export' }).click())
  await step('choose the import', () =>
    page.getByRole('menuitem', { name: 'Import names and labels' }).click(),
  )
  const chooser = page.waitForEvent('filechooser')
  await step('choose the file', async () => {
    await page.getByRole('button', { name: 'Choose a CSV file' }).click()
    await (await chooser).setFiles(chosen)
  })
  await page.getByText('40 rows, 3 columns, semicolons, Latin-1.').waitFor()
  await step('preview', () => page.getByRole('button', { name: 'Preview 40 rows' }).click())
  const change = page.getByRole('button', { name: 'Change 40 devices' })
  await change.waitFor()
  await step('change', () => change.click())
  await page.getByRole('heading', { name: '40 devices changed' }).waitFor()
  expect(steps).toHaveLength(5)
  expect(await labelsOf('0440')).toEqual({ site: 'pier4', yard: 'süd;ost' })
  expect(await labelsOf('0441')).toBeUndefined()
  await expectGoodScreen(page, 'import-result')
  await page.getByRole('link', { name: 'Show the 40 devices' }).click()
  await row('0401').waitFor()
  expect(stage.faults).toEqual([])
})

it('says what is wrong with the rows of a file, and imports the others', async () => {
  await page.goto(`${address}/import`)
  await expectGoodScreen(page, 'import-start')
  const text = page.getByRole('textbox', { name: 'Text of the file' })
  await text.fill('name')
  await page.getByText('The file cannot be read.').waitFor()
  await text.fill(
    [
      '\uFEFFHost,New name,Site,Notes',
      'host-0501,Crane 501,pier9,"a ""quoted"" note"',
      'host-0502,,pier9,',
      'host-0501,Crane 502,pier9,',
      'host-9999,Crane 999,pier9,',
      `host-0503,${'x'.repeat(400)},pier9,`,
    ].join('\n'),
  )
  await page.getByText('5 rows, 4 columns, commas, UTF-8.').waitFor()
  expect(await page.getByLabel('What Host is').inputValue()).toBe('hostname')
  expect(await page.getByLabel('Use of New name').inputValue()).toBe('name')
  await page.getByLabel('Use of Notes').selectOption('key')
  expect(await page.getByLabel('Use of Host').inputValue()).toBe('none')
  await page.getByLabel('Use of Host').selectOption('key')
  await page.getByLabel('Use of Notes').selectOption('label')
  await page.getByRole('combobox', { name: 'Key of the label of Notes' }).fill('site')
  await page.getByText('Two columns set the label site.').waitFor()
  expect(await page.getByRole('button', { name: 'Preview 5 rows' }).isDisabled()).toBe(true)
  await page.getByLabel('Use of Notes').selectOption('none')
  await expectGoodScreen(page, 'import-columns')
  await page.getByRole('button', { name: 'Preview 5 rows' }).click()
  await page.getByText('No device here has this key.').waitFor()
  await page.getByText('An earlier row names the same device.').waitFor()
  await page.getByText('A cell is no name or label.').waitFor()
  await expectGoodScreen(page, 'import-preview')
  await page.getByRole('button', { name: 'Change 2 devices' }).click()
  await page.getByRole('heading', { name: '2 devices changed' }).waitFor()
  await page.getByRole('cell', { name: 'Crane 501' }).first().waitFor()
  expect(await labelsOf('0502')).toEqual({ site: 'pier9' })
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('heading', { name: '2 devices set back' }).waitFor()
  expect(await labelsOf('0502')).toBeUndefined()
  expect(stage.faults).toEqual([])
})
