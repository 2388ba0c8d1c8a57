import { connectDevice, type FakeDevice } from '@muster/testkit'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { firstToken } from './hub-child.ts'
import { expectGoodScreen, invoke, openStage, type Stage } from './people.ts'
import { smallTouchTargets } from './touch-targets.ts'

let stage: Stage
let page: Page
let list: string
let device: FakeDevice
let other: FakeDevice
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  const token = firstToken(stage.hub)
  device = resources.use(await connectDevice({ url: stage.hub.url, token }))
  other = resources.use(await connectDevice({ url: stage.hub.url, token }))
  page = await stage.signedInPage()
  await page.getByRole('link', { name: 'First project' }).click()
  await page.locator('tr[data-index]').first().waitFor()
  list = page.url().split('?')[0]!
  await invoke(page, 'devices_SetName', { deviceId: device.deviceId, name: 'crane-gw-0431' })
  await invoke(page, 'devices_SetName', { deviceId: other.deviceId, name: 'crane-gw-0432' })
  await invoke(page, 'devices_SetLabels', {
    deviceId: other.deviceId,
    set: { site: 'pier4', ring: 'canary' },
  })
})
afterAll(() => resources.disposeAsync())

/** A member of the element that has the focus. */
function focused(member: string): Promise<unknown> {
  return page.evaluate(`document.activeElement?.${member}`)
}

it('labels a device on its page, with suggestions, in place and with the keyboard', async () => {
  await page.goto(`${list}/${device.deviceId}`)
  const labels = page.getByRole('group', { name: 'Labels' })
  await labels.getByRole('button', { name: 'Label', exact: true }).waitFor()
  await page.keyboard.press('l')
  const key = labels.getByRole('combobox', { name: 'Key of the label' })
  await expect.poll(() => focused('getAttribute("aria-label")')).toBe('Key of the label')
  await key.fill('Site')
  await key.press('Enter')
  await labels.getByText('Small letters, digits, dot, dash, underscore, up to 63.').waitFor()
  await key.fill('si')
  await page.getByRole('option', { name: /^site/ }).click()
  const value = labels.getByRole('combobox', { name: 'Value of the label' })
  await page.getByRole('option', { name: /^pier4/ }).waitFor()
  await expectGoodScreen(page, 'labels-edit')
  await value.fill('pier2')
  await value.press('Enter')
  const edit = labels.getByRole('button', { name: 'Edit label site, pier2' })
  await edit.waitFor()
  await expect.poll(() => focused('textContent')).toBe('Label')

  await edit.click()
  const present = labels.getByRole('combobox', { name: 'Value of site' })
  await page.getByText(/^Now pier2, set by .+ now\.$/).waitFor()
  await present.press('Escape')
  await present.press('Escape')
  await edit.waitFor()
  await edit.press('Enter')
  await present.fill('pier4')
  await labels.getByRole('button', { name: 'Save site' }).click()
  await labels.getByRole('button', { name: 'Edit label site, pier4' }).waitFor()

  await labels.getByRole('button', { name: 'Remove label site' }).click()
  await labels.getByRole('button', { name: 'Edit label site, pier4' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Undo' }).click()
  await labels.getByRole('button', { name: 'Edit label site, pier4' }).waitFor()
  await page.getByText('Only people set labels. They are edited at the top of this page.').waitFor()
  expect(await page.getByRole('button', { name: 'Edit dev.muster.labels' }).count()).toBe(0)
  await expectGoodScreen(page, 'labels-device')
  const { labels: stored } = await invoke(page, 'devices_GetDetails', { deviceId: device.deviceId })
  expect(stored).toEqual({ site: 'pier4' })
})

it('shows labels in the rows of the list, filters by a click on one, and has a column for each', async () => {
  await invoke(page, 'devices_SetLabels', {
    deviceId: other.deviceId,
    set: { crane: 'sts-09', note: 'x'.repeat(255) },
  })
  await page.goto(list)
  const row = page.locator('tr[data-index]').filter({ hasText: 'crane-gw-0432' })
  await row.getByText('+2').waitFor()
  expect((await row.boundingBox())?.height).toBe(44)
  await expectGoodScreen(page, 'labels-list')
  await row.getByRole('button', { name: 'Filter by label crane, sts-09' }).click()
  await expect.poll(() => page.locator('tr[data-index]').count()).toBe(1)
  await page.getByText('label.crane is sts-09', { exact: true }).waitFor()
  // The label that the list is filtered by stands first, and has a column.
  await page.getByRole('columnheader', { name: 'label.crane' }).waitFor()
  await row.getByRole('cell', { name: 'sts-09', exact: true }).waitFor()

  const where = JSON.stringify([['dev.muster.labels.ring', 'equals', 'canary']])
  await page.goto(`${list}?where=${encodeURIComponent(where)}&sort=%3Ddev.muster.labels.ring`)
  await page.getByText('label.ring is canary', { exact: true }).waitFor()
  await page.getByRole('columnheader', { name: 'label.ring' }).waitFor()
  await expect.poll(() => page.locator('tr[data-index]').count()).toBe(1)
  await row.getByRole('cell', { name: 'canary', exact: true }).waitFor()
  await expectGoodScreen(page, 'labels-condition')
  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByRole('dialog', { name: 'Columns' }).getByText('label.site', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  expect(stage.faults).toEqual([])
})

it('filters by a tap on a label, with touch targets of 44 pixels', async () => {
  const storageState = await page.context().storageState()
  await using phone = await stage.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
    storageState,
  })
  const touched = await phone.newPage()
  await touched.goto(list)
  const row = touched.locator('tr[data-index]').filter({ hasText: 'crane-gw-0432' })
  const chip = row.getByRole('button', { name: 'Filter by label crane, sts-09' })
  await chip.waitFor()
  expect((await row.boundingBox())?.height).toBe(88)
  expect(await smallTouchTargets(touched, 'tr[data-index]')).toEqual([])
  await chip.tap()
  await touched.waitForURL(/where=/)
  await expect.poll(() => touched.locator('tr[data-index]').count()).toBe(1)
})

it('holds the bound of the first load of a list with labels', async () => {
  const context = await stage.newContext({
    serviceWorkers: 'block',
    storageState: await page.context().storageState(),
  })
  const fresh = await context.newPage()
  await fresh.goto(list)
  await fresh.getByText('+2').waitFor()
  const bytes = await fresh.evaluate<number>(`performance.getEntriesByType('resource')
    .filter(({ name }) => /\\.(js|css)$/.test(name)).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`)
  expect(bytes).toBeGreaterThan(100_000)
  expect(bytes).toBeLessThanOrEqual(190_000)
  await context.close()
})

it('gives labels by a token, shows them in the list of tokens, and changes them', async () => {
  await page.goto(list.replace(/devices$/, 'tokens'))
  await page.getByRole('button', { name: 'New Token' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New Token' })
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Pier 2')
  await dialog.getByRole('button', { name: 'Add a label' }).click()
  await expect.poll(() => focused('getAttribute("aria-label")')).toBe('Key of label 1')
  await dialog.getByRole('combobox', { name: 'Key of label 1' }).fill('Site')
  await dialog.getByRole('combobox', { name: 'Value of label 1' }).fill('pier2')
  await dialog.getByRole('button', { name: 'Create Token' }).click()
  await dialog.getByText('Site: Small letters, digits, dot, dash, underscore, up to 63.').waitFor()
  await dialog.getByRole('combobox', { name: 'Key of label 1' }).fill('si')
  await page.getByRole('option', { name: /^site/ }).click()
  await expectGoodScreen(page, 'token-new-labels')
  await dialog.getByRole('button', { name: 'Create Token' }).click()
  const shown = page.getByRole('dialog', { name: 'Token created' })
  const token = await shown.locator('[data-secret] code').innerText()
  await shown.getByText('pier2').waitFor()
  await expectGoodScreen(page, 'token-created-labels')
  await using gate = await connectDevice({ url: stage.hub.url, token })
  await shown.getByText('is connected.').waitFor()
  await shown.getByRole('button', { name: 'Done' }).click()

  const row = page.getByRole('row').filter({ hasText: 'Pier 2' })
  await row.getByText('pier2').waitFor()
  await expectGoodScreen(page, 'tokens-labels')
  await row.getByRole('button', { name: 'Change labels of Pier 2' }).click()
  const change = page.getByRole('dialog', { name: 'Labels of Pier 2' })
  await change.getByRole('combobox', { name: 'Value of label 1' }).fill('pier9')
  await change.getByRole('button', { name: 'Another label' }).click()
  await change.getByRole('combobox', { name: 'Key of label 2' }).fill('ring')
  await change.getByRole('combobox', { name: 'Value of label 2' }).fill('early')
  await expectGoodScreen(page, 'token-labels')
  await change.getByRole('button', { name: 'Save Labels' }).click()
  await change.waitFor({ state: 'detached' })
  await row.getByText('pier9').waitFor()
  await row.getByText('early').waitFor()
  // Devices that enrolled before keep theirs.
  const { labels } = await invoke(page, 'devices_GetDetails', { deviceId: gate.deviceId })
  expect(labels).toEqual({ site: 'pier2' })
  await row.getByRole('button', { name: 'Change labels of Pier 2' }).click()
  await change.getByRole('button', { name: 'Remove label 2' }).click()
  await change.getByRole('button', { name: 'Remove label 1' }).click()
  await change.getByRole('button', { name: 'Save Labels' }).click()
  await row.getByText('pier9').waitFor({ state: 'detached' })
  expect(stage.faults).toEqual([])
})
