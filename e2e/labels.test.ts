import { connectDevice, type FakeDevice } from '@muster/testkit'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { firstToken } from './hub-child.ts'
import { expectGoodScreen, invoke, openStage, type Stage } from './people.ts'

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

it('shows labels of the list as a column and as a condition', async () => {
  await invoke(page, 'devices_SetLabels', {
    deviceId: other.deviceId,
    set: { crane: 'sts-09', note: 'x'.repeat(255) },
  })
  await page.goto(list)
  const row = page.locator('tr[data-index]').filter({ hasText: 'crane-gw-0432' })
  const where = JSON.stringify([['dev.muster.labels.ring', 'equals', 'canary']])
  await page.goto(`${list}?where=${encodeURIComponent(where)}&sort=%3Ddev.muster.labels.ring`)
  await page.getByText('label.ring is canary', { exact: true }).waitFor()
  await page.getByRole('columnheader', { name: 'ring' }).waitFor()
  await expect.poll(() => page.locator('tr[data-index]').count()).toBe(1)
  await row.getByRole('cell', { name: 'canary', exact: true }).waitFor()
  await expectGoodScreen(page, 'labels-condition')
  expect(stage.faults).toEqual([])
})
