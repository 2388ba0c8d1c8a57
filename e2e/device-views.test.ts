import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { changeDatabase } from './hub-child.ts'
import { allowClipboard, expectGoodScreen, invoke, openStage, type Stage } from './people.ts'

const DEVICES = 260
const LENE = { email: 'lene@halden.example' }
/** SQL for the random part of an id, derived from the number `i` of a device. */
const ID = `left(translate(md5(i::text), '0', 'z'), 22)`

let stage: Stage
let page: Page
let lene: Page
let list: string
let projectId: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  await changeDatabase(
    stage.hub,
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, first_seen, is_connected)
     select 'd_' || ${ID}, project_id, 'd_pk_' || ${ID}, sha256(i::text::bytea), 'charger-' || lpad(i::text, 3, '0'),
            now() - i * interval '1 minute', i % 5 <> 0
       from project, generate_series(1, ${DEVICES}) i;
     insert into device_property (device_id, name, value, value_json, protected)
     select 'd_' || ${ID}, name, value::json, value, name = 'dev.muster.labels'
       from generate_series(1, ${DEVICES}) i,
            lateral (values
              ('dev.muster.labels', jsonb_build_object('ring', case when i % 3 = 0 then 'canary' else 'broad' end,
                                                       'site', 'pier' || i % 4)),
              ('floor', to_jsonb(i % 9)),
              ('dev.nexigon.ota.status', jsonb_build_object('state', case when i % 20 = 0 then 'failed' else 'idle' end))
            ) as p (name, value);
     insert into device_update (device_id, property_version, current_version)
     select 'd_' || ${ID}, 1, case when i % 2 = 0 then '2.23.0' else '2.24.1' end from generate_series(1, ${DEVICES}) i
         on conflict (device_id) do update set current_version = excluded.current_version;
     insert into "user" (user_id, email, display_name)
     select 'u_' || left(translate(md5('lene'), '0', 'z'), 22), '${LENE.email}', 'Lene Holm';
     insert into organization_member (organization_id, user_id)
     select organization_id, 'u_' || left(translate(md5('lene'), '0', 'z'), 22) from project`,
  )
  page = await stage.signedInPage()
  await page.getByRole('link', { name: 'First project' }).click()
  await page.locator('tr[data-index]').first().waitFor()
  list = page.url().split('?')[0]!
  projectId = /p_[^/]+/.exec(list)![0]
  lene = await stage.signedInPage({ person: LENE })
})
afterAll(() => resources.disposeAsync())

const box = (on = page) => on.getByRole('textbox', { name: 'Conditions as text' })
const where = (text: string) => `${list}?where=${encodeURIComponent(text)}`
const matches = (count: number, on = page) =>
  on.getByText(`${count} of ${DEVICES} devices`, { exact: true }).waitFor()

it('takes conditions as text, with suggestions of labels, values, fields and operators', async () => {
  await page.goto(list)
  await page.locator('tr[data-index]').first().waitFor()
  await page.keyboard.press('Shift+F')
  await box().waitFor()
  await box().pressSequentially('lab')
  await page.getByRole('option', { name: /^label\.site/ }).waitFor()
  await expectGoodScreen(page, 'predicate-suggestions')
  await page.getByRole('option', { name: /^label\.site/ }).click()
  await page.getByRole('option', { name: /^in\b/ }).click()
  await page.getByRole('option', { name: /^pier1/ }).click()
  await page.getByRole('option', { name: /^pier3/ }).click()
  await page.getByRole('option', { name: /^\]/ }).click()
  await box().pressSequentially('and not device.con')
  await page.keyboard.press('Tab')
  expect(await box().inputValue()).toBe('label.site in ["pier1", "pier3"] and not device.connected ')
  await matches(26)
  expect(new URL(page.url()).searchParams.get('where')).toBe(
    'label.site in ["pier1", "pier3"] and not device.connected',
  )
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await page
    .getByRole('button', { name: 'Change condition: dev.muster.labels.site is one of pier1, pier3' })
    .waitFor()
  await page.getByRole('button', { name: 'Change condition: Connected is false' }).waitFor()
  await expectGoodScreen(page, 'predicate-form-line')
})

it('names the place of an error, suggests a word, and keeps the last conditions', async () => {
  await page.goto(where('device.connected'))
  await matches(208)
  await page.getByRole('button', { name: 'Text', exact: true }).click()
  await box().fill('device.connected and device.nam = "x"')
  await page.getByText(/^Column 29: found nam, expected a field of a device/).waitFor()
  await page.getByText('The list shows the last conditions without an error.').waitFor()
  await expectGoodScreen(page, 'predicate-error')
  await matches(208)
  await page.getByRole('button', { name: 'Use name' }).click()
  expect(await box().inputValue()).toBe('device.connected and device.name = "x"')
  await page.getByText('No devices match this filter.').waitFor()
  await box().fill('device.connected\nand 4')
  await page.getByText(/^Line 2, column 5: found a number, expected a condition/).waitFor()
  await box().fill('device.connected and property["dev.nexigon.ota.stat"].state = "failed"')
  await page.getByText('Column 22: no device here has the property dev.nexigon.ota.stat.').waitFor()
  await page.getByText('The list shows the last conditions. Enter applies these all the same.').waitFor()
  await expectGoodScreen(page, 'predicate-unknown')
  await page.getByRole('button', { name: 'Use dev.nexigon.ota.status' }).click()
  expect(await box().inputValue()).toContain('property["dev.nexigon.ota.status"].state')
})

it('leaves to the text form what the form cannot show, and opens a wrong link with its error', async () => {
  await page.goto(where('not (device.connected and label.ring = "canary")'))
  await matches(191)
  await box().waitFor()
  await page.getByText('This is too nested for the form.').waitFor()
  expect(await page.getByRole('button', { name: 'Form', exact: true }).isDisabled()).toBe(true)
  await expectGoodScreen(page, 'predicate-nested')
  await page.goto(where('label.site ='))
  await page.getByText('Column 13: found the end, expected a value.').waitFor()
  await page.getByText('The list leaves these conditions out.').waitFor()
  await page.locator('tr[data-index]').first().waitFor()
})

it('adds conditions on labels and fields with the form, and joins them with or', async () => {
  await page.goto(list)
  await page.locator('tr[data-index]').first().waitFor()
  await page.keyboard.press('f')
  const panel = page.getByRole('dialog', { name: 'Add a condition' })
  await panel.getByRole('button', { name: 'Labels' }).click()
  await panel.getByRole('option', { name: /^site/ }).click()
  await panel.getByLabel('Condition').selectOption('oneOf')
  await panel.getByRole('option', { name: /^pier1/ }).click()
  await panel.getByRole('option', { name: /^pier3/ }).click()
  await panel.getByText('130 of 260 devices will match').waitFor()
  await expectGoodScreen(page, 'predicate-form')
  await panel.getByRole('button', { name: 'Add', exact: true }).click()
  await matches(130)
  await page.getByRole('button', { name: 'Add a condition' }).click()
  await panel.getByRole('button', { name: 'Device', exact: true }).click()
  await panel.getByRole('option', { name: /^Connected/ }).click()
  await panel.getByRole('option', { name: 'false', exact: true }).click()
  await panel.getByRole('button', { name: 'Add', exact: true }).click()
  await matches(26)
  await page.getByRole('button', { name: 'Joined with and. Change to or' }).click()
  await matches(156)
  await expectGoodScreen(page, 'predicate-any-of')
  await page.getByRole('button', { name: 'Joined with or. Change to and' }).click()
  await matches(26)
})

it('finds the connected chargers of a ring with an old version, saves them for everyone, and opens the link as somebody else, in 9 steps', async () => {
  await allowClipboard(page)
  await page.goto(list)
  await page.locator('tr[data-index]').first().waitFor()
  const steps: string[] = []
  const step = async (what: string, act: Promise<unknown>) => {
    await act
    steps.push(what)
  }
  await step('F', page.keyboard.press('Shift+F'))
  await step(
    'type the conditions',
    box().fill('label.ring = "canary" and device.version satisfies "<2.24.0" and device.connected'),
  )
  await matches(35)
  await step('Save view', page.getByRole('button', { name: 'Save view' }).click())
  const dialog = page.getByRole('dialog', { name: 'Save as a new view' })
  await dialog.getByText(/35 devices match now/).waitFor()
  await step('name', dialog.getByLabel('Name').fill('Canary, old and connected'))
  await step('Everyone', dialog.getByText('Everyone in this project').click())
  await expectGoodScreen(page, 'view-save')
  await step('Save View', dialog.getByRole('button', { name: 'Save View' }).click())
  await page.getByText('View Canary, old and connected saved.').waitFor()
  await page.getByRole('button', { name: /^Canary, old and connected/, pressed: true }).waitFor()
  await step('Views', page.getByRole('button', { name: 'Views', exact: true }).click())
  const panel = page.getByRole('dialog', { name: 'Views' })
  await panel.getByText('35', { exact: true }).waitFor()
  await step('More', panel.getByRole('button', { name: 'More for Canary, old and connected' }).click())
  await step('Copy link', page.getByRole('menuitem', { name: 'Copy link' }).click())
  await page.getByText('Link to Canary, old and connected copied.').waitFor()
  expect(steps).toHaveLength(9)

  const link = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(link).toMatch(/\/devices\?view=view_\w+$/)
  await lene.goto(link)
  await matches(35, lene)
  await lene.getByRole('button', { name: 'Change condition: Connected is true' }).waitFor()
  await lene.getByRole('button', { name: /^Canary, old and connected/, pressed: true }).waitFor()
  expect(await lene.locator('tr[data-index]').count()).toBe(35)
})

it('keeps changes of a view apart until they are saved, and takes them back', async () => {
  const { viewId } = await invoke(page, 'views_Create', {
    projectId,
    name: 'Pier 1',
    conditions: { properties: [{ property: 'dev.muster.labels.site', operator: 'equals', value: 'pier1' }] },
    columns: [{ column: 'status' }, { property: 'floor' }],
    order: 'name',
    isShared: true,
    isInRow: true,
  })
  await page.goto(`${list}?view=${viewId}`)
  await matches(65)
  await page.getByRole('columnheader', { name: 'floor' }).waitFor()
  expect(await page.getByRole('columnheader', { name: 'First Seen' }).count()).toBe(0)
  await page.getByRole('button', { name: /^Update failed/ }).click()
  await page.getByRole('button', { name: 'Reset' }).click()
  await matches(65)
  await page.getByRole('button', { name: 'Disconnected', exact: true }).first().click()
  await matches(13)
  await page.getByRole('button', { name: 'Save view' }).click()
  await page.getByRole('menuitem', { name: 'Save changes of Pier 1' }).click()
  await page.getByText('View Pier 1 saved.').waitFor()
  await page.getByRole('button', { name: 'All devices' }).waitFor()
  const { view } = (await invoke(page, 'views_Get', { projectId, viewId })) as { view: unknown }
  expect(view).toMatchObject({ conditions: { status: 'disconnected' }, order: 'name' })
  await page.getByRole('button', { name: 'All devices' }).click()
  await page.getByText(`${DEVICES} devices`, { exact: true }).first().waitFor()
  expect(new URL(page.url()).search).toBe('')
  // Somebody else sees the change in the row without a reload.
  await lene.goto(list)
  await lene.getByRole('button', { name: /^Pier 1/ }).waitFor()
})

it('renames, shares and deletes a view in the menu of views, and finds it in the palette', async () => {
  await page.goto(where('label.ring = "broad" and floor > 6'))
  await page.locator('tr[data-index]').first().waitFor()
  await page.getByRole('button', { name: 'Views', exact: true }).click()
  const panel = page.getByRole('dialog', { name: 'Views' })
  await panel.getByRole('button', { name: 'Save as a new view…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Save as a new view' })
  await dialog.getByLabel('Name').fill('Upper floors')
  await dialog.getByRole('button', { name: 'Save View' }).click()
  await page.getByText('View Upper floors saved.').waitFor()
  const viewId = new URL(page.url()).searchParams.get('view')!

  await lene.goto(`${list}?view=${viewId}`)
  await lene.getByText('This view cannot be shown.').waitFor()
  await lene.getByText('It is private to another person, or it does not exist.', { exact: false }).waitFor()
  await lene.locator('tr[data-index]').first().waitFor()
  await expectGoodScreen(lene, 'view-private')

  await page.getByRole('button', { name: 'Views', exact: true }).click()
  await panel.getByRole('region', { name: 'Only you' }).getByText('Upper floors').waitFor()
  await expectGoodScreen(page, 'views', async () => {
    if (await panel.isVisible()) return
    const phone = page.getByRole('button', { name: 'Order, conditions, views, columns, selection, export' })
    if (await phone.isVisible()) {
      await phone.click()
      await page.getByRole('menuitem', { name: 'Views' }).click()
    } else await page.getByRole('button', { name: 'Views', exact: true }).click()
    await panel.waitFor()
  })
  await panel.getByRole('button', { name: 'More for Upper floors' }).click()
  await page.getByRole('menuitem', { name: 'Rename…' }).click()
  const change = page.getByRole('dialog', { name: 'Change the view' })
  await change.getByLabel('Name').fill('Highest floors')
  await change.getByRole('button', { name: 'Save View' }).click()
  await page.getByRole('button', { name: /^Highest floors/, pressed: true }).waitFor()

  await page.getByRole('button', { name: 'Views', exact: true }).click()
  await panel.getByRole('button', { name: 'More for Highest floors' }).click()
  await page.getByRole('menuitem', { name: 'Share' }).click()
  await page.getByText('Everyone in this project sees Highest floors.').waitFor()
  await page.keyboard.press('Escape')
  await lene.goto(list)
  await lene.locator('tr[data-index]').first().waitFor()
  await lene.keyboard.press('Control+k')
  await lene.getByRole('combobox', { name: 'Jump to' }).fill('highest')
  await lene.getByRole('option', { name: /^Highest floors/ }).click()
  await lene.getByRole('button', { name: 'Change condition: floor is greater than 6' }).waitFor()

  await page.getByRole('button', { name: 'Views', exact: true }).click()
  await panel.getByRole('button', { name: 'More for Highest floors' }).click()
  page.once('dialog', asked => void asked.accept())
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await page.getByText('View Highest floors deleted.').waitFor()
  await lene.getByText('The view Highest floors is gone.').waitFor()
  await lene.getByText(/This view was deleted by .+ on .+\./).waitFor()
})

it('says which label no device has any more', async () => {
  const { viewId } = await invoke(page, 'views_Create', {
    projectId,
    name: 'Wave 7',
    conditions: {
      predicate: {
        kind: 'Equals',
        left: { kind: 'Get', expr: { kind: 'NamedValue', name: 'dev.muster.labels' }, path: ['wave'] },
        right: { kind: 'Literal', value: '7' },
      },
    },
    isShared: false,
  })
  await page.goto(`${list}?view=${viewId}`)
  await page.getByText('No device here has the label wave.').waitFor()
  await expectGoodScreen(page, 'view-gone-label')
  expect(stage.faults).toEqual([])
})
