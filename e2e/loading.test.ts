import { type ActionName, CONSOLE_PATHS } from '@muster/actions'
import { connectDevice } from '@muster/testkit/device'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase, firstToken } from './hub-child.ts'
import { failAction, invoke } from './people.ts'
import { openPopulatedStage, type PopulatedStage } from './populated-stage.ts'

/** Maximum number of actions until a page is complete (docs/decisions.md, "Loading"). */
const MOST_ACTIONS = 8

let populated: PopulatedStage
/** Page of the instance's administrator. */
let page: Page
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  populated = resources.use(await openPopulatedStage())
})

beforeEach(async () => {
  page = await populated.stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

/** Opens a page with an empty query cache and returns the actions that it has sent until it is complete. */
async function actionsOf(path: string): Promise<ActionName[]> {
  const sent: ActionName[] = []
  const listener = (request: { url(): string }): void => {
    const name = /\/invoke\/(\w+)$/.exec(request.url())?.[1]
    if (name !== undefined) sent.push(name as ActionName)
  }
  page.on('request', listener)
  await page.goto(populated.stage.hub.url + path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  const busy = page.locator(path === '/design-system' ? '.page[aria-busy="true"]' : '[aria-busy="true"]')
  // An answer may lead to another query.
  let before = -1
  await expect
    .poll(
      async () => {
        const isQuiet = sent.length === before && (await busy.count()) === 0
        before = sent.length
        return isQuiet
      },
      { interval: 400 },
    )
    .toBe(true)
  page.off('request', listener)
  return sent
}

function pathTo(path: string): string {
  const { organizationId, projectId, devices, repositoryId, packageId, versionId } = populated
  const parameters = {
    '{$organization}': organizationId.replace('org_', ''),
    '{$repository}': repositoryId.replace('repo_', ''),
    $projectId: projectId,
    $deviceId: devices.Active,
    $repositoryId: repositoryId,
    $packageId: packageId,
    $versionId: versionId,
  }
  return Object.entries(parameters).reduce((whole, [name, value]) => whole.replace(name, value), path)
}

const DEVICE = '/org_{$organization}/projects/$projectId/devices/$deviceId'

it.each(CONSOLE_PATHS)('C23: is complete after at most 8 actions: %s', async path => {
  const sent = await actionsOf(pathTo(path))
  expect(sent.length, sent.join('\n')).toBeLessThanOrEqual(MOST_ACTIONS)
})

it('C23: shows a device that waits for approval after at most 8 actions', async () => {
  const { devices } = populated
  const sent = await actionsOf(pathTo(DEVICE).replace(devices.Active, devices.Pending))
  await page.getByRole('heading', { name: 'Compare the fingerprint with the device' }).waitFor()
  expect(sent.length, sent.join('\n')).toBeLessThanOrEqual(MOST_ACTIONS)
})

it('C23: shows a device with a failed update and its versions after at most 8 actions', async () => {
  const { stage, repositoryId, packageId } = populated
  await using device = await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) })
  await using other = await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) })
  await changeDatabase(stage.hub, "update asset set status = 'Available'")
  for (const { deviceId, invoke: report } of [device, other]) {
    const set = (name: string, value: unknown) => report('devices_SetProperty', { deviceId, name, value })
    await set('dev.nexigon.ota.config', { path: `${repositoryId}/${packageId}/stable` })
    await set('dev.nexigon.system.info', {
      disks: [{ name: '/dev/a', mountPoint: '/data', totalSpace: 1_000_000, availableSpace: 10 }],
    })
    await set('dev.nexigon.ota.status', {
      state: 'failed',
      currentVersion: '1.3.0',
      targetVersion: '1.4.0',
      failureCount: 2,
      lastError: 'no space left on device',
    })
  }
  const sent = await actionsOf(pathTo(DEVICE).replace(populated.devices.Active, device.deviceId))
  const problem = page.locator('.problem')
  await problem.getByText('The bundle needs 1.5 KiB').waitFor()
  await problem.getByRole('link', { name: 'Open 1.4.0' }).waitFor()
  await problem.getByRole('link', { name: '2 devices fail with this error' }).waitFor()
  expect(sent.length, sent.join('\n')).toBeLessThanOrEqual(MOST_ACTIONS)
})

it('C23: asks for the parts of a device one by one if they cannot be read together', async () => {
  const mendPage = await failAction(page, 'devices_GetPage')
  const mendEvents = await failAction(page, 'devices_QueryEvents')
  const sent = await actionsOf(pathTo(DEVICE))
  await page.getByRole('heading', { name: 'Could not load events' }).waitFor()
  await page.getByRole('region', { name: 'System Info' }).getByText('192.0.2.7').waitFor()
  expect(sent).toEqual(expect.arrayContaining(['devices_GetDetails', 'devices_QueryConnections']))
  await Promise.all([mendPage(), mendEvents()])
})

it('C23: shows changes by people in the section Connection', async () => {
  await invoke(page, 'devices_SetName', { deviceId: populated.devices.Active, name: 'crane-one' })
  await actionsOf(pathTo(DEVICE))
  const region = page.getByRole('region', { name: 'Connection', exact: true })
  await region.getByText('Changed by a person', { exact: true }).waitFor()
  await invoke(page, 'devices_SetName', { deviceId: populated.devices.Active, name: 'crane-1' })
})
