import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startAgent } from './agent-child.ts'
import { changeDatabase, firstToken } from './hub-child.ts'
import { expectGoodScreen, invoke, openStage, organizationOf, signIn } from './people.ts'

const DEVICES = 24
const IMAGES = join(import.meta.dirname, '../docs/images')

// Runs by `npm run pictures` only, because it writes into the checkout.
it('shows a simulated fleet for README.md, with a device whose update failed and one with a warning', async () => {
  await using stage = await openStage()
  const page = await stage.newPage()
  await signIn(page, stage, stage.admin)
  const organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', {
    organizationId: organizationId as never,
  })
  const { projectId } = projects[0]!
  const fleet = ['--hub', stage.hub.url, '--token', firstToken(stage.hub), '--count', String(DEVICES)]
  await using _agents = startAgent(['simulate', ...fleet, '--no-outages'])
  const connected = async () => (await invoke(page, 'projects_GetSummary', { projectId })).connectedCount
  await expect.poll(connected).toBe(DEVICES)
  // A fleet that has grown over weeks and has been connected for hours.
  await changeDatabase(
    stage.hub,
    `with aged as (select device_id, row_number() over (order by hostname) as n from device)
     update device set name = replace(hostname, 'sim-', ''), first_seen = now() - n * interval '31 hours',
            last_connected_at = now() - (n * 7 % 40 + 3) * interval '53 minutes' from aged where aged.device_id = device.device_id`,
  )
  const { devices } = await invoke(page, 'projects_QueryDevices', { projectId, limit: DEVICES })
  devices.sort((one, other) => other.firstSeen.localeCompare(one.firstSeen))
  const set = (at: number, name: string, value: unknown) =>
    invoke(page, 'devices_SetProperty', { deviceId: devices[at]!.deviceId, name, value: value as never })
  await set(3, 'dev.nexigon.ota.status', {
    state: 'failed',
    currentVersion: '2.22.4',
    targetVersion: '2.23.0',
    failureCount: 6,
    lastError: 'no space left on device',
  })
  await set(6, 'dev.nexigon.system.health', { status: 'degraded' })
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/devices`)
  await page.locator('tr[data-index]').nth(7).waitFor()
  await expectGoodScreen(page, 'devices-simulated')
  await page.setViewportSize({ width: 1440, height: 900 })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.locator(`html[data-theme="${colorScheme}"]`).waitFor()
    await page.screenshot({ path: join(IMAGES, `devices-${colorScheme}.png`) })
  }
})
