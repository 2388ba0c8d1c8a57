import { type Muster, muster } from '@muster/testkit/command-line'
import { connectDevice, type FakeDevice } from '@muster/testkit/device'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase, firstToken } from './hub-child.ts'
import {
  allowClipboard,
  expectGoodScreen,
  invoke,
  openStage,
  organizationOf,
  polled,
  type Stage,
} from './people.ts'

const OTA_STATUS = 'dev.nexigon.ota.status'
/** Time between two requests of a page that counts the devices of a version (`apps/console/src/api/refresh.ts`). */
const POLL_MS = 10_000
const NO_SPACE = 'no space left on device'

let stage: Stage
let page: Page
/** The command-line client that runs the commands which the person pastes. */
let cli: Muster
/** Devices that follow the tag `stable` of the package. */
let followers: FakeDevice[]
let organizationId: string
let projectId: string
let repositoryId: string
let packageId: string
/** Ids of versions by `imageVersion`. */
const versions: Record<string, string> = {}
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  page = await stage.signedInPage({ prepare: allowClipboard })
  organizationId = await organizationOf(page)
  const { actor } = await invoke(page, 'actor_GetActor', {})
  if (actor.actor !== 'User') throw new Error(`signed in as ${actor.actor}`)
  const { token } = await invoke(page, 'users_CreateToken', { userId: actor.userId, name: 'releases' })
  cli = resources.use(await muster({ MUSTER_HUB: stage.hub.url, MUSTER_TOKEN: token }))
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  projectId = projects[0]!.projectId
  const made = await invoke(page, 'repositories_Create', { organizationId, name: 'fleet' })
  if (made.result !== 'Created') throw new Error('the repository exists')
  repositoryId = made.repositoryId
  await invoke(page, 'projects_LinkRepository', { projectId, repositoryId })
  packageId = await newPackage('gateway-os')
  for (const word of ['2.21.4', '2.22.4']) versions[word] = await newVersion(packageId, word)
  await invoke(page, 'repositories_TagVersion', { versionId: versions['2.22.4']!, tags: [{ tag: 'stable' }] })
  followers = await Promise.all(
    Array.from({ length: 3 }, () => connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) })),
  )
  for (const device of followers) resources.use(device)
  await Promise.all(followers.map(device => report(device, { currentVersion: '2.22.4', state: 'completed' })))
  versions['2.23.0'] = await newVersion(packageId, '2.23.0')
})

beforeEach(async () => {
  page = await stage.signedInPage({ prepare: allowClipboard })
})

afterAll(() => resources.disposeAsync())

async function newPackage(name: string): Promise<string> {
  const made = await invoke(page, 'repositories_CreatePackage', { repositoryId, name })
  if (made.result !== 'Created') throw new Error(`the package ${name} exists`)
  return made.packageId
}

async function newVersion(of: string, imageVersion: string): Promise<string> {
  const { versionId } = await invoke(page, 'repositories_CreateVersion', {
    packageId: of,
    tags: [{ tag: imageVersion, locked: true }],
    metadata: { imageVersion, gitCommit: '8c41d0e7b2' },
  })
  return versionId
}

function report(device: FakeDevice, status: object) {
  const value = { config: { path: 'fleet/gateway-os/stable' }, ...status }
  return device.invoke('devices_SetProperty', { deviceId: device.deviceId, name: OTA_STATUS, value })
}

/** Runs an update on a device, as an update script does: it installs the version that its tag points to. */
async function update(device: FakeDevice): Promise<void> {
  const { versionId } = (await device.invoke('repositories_ResolveVersionByPath', {
    repository: 'fleet',
    package: 'gateway-os',
    tag: 'stable',
  })) as { versionId: string }
  const { metadata } = (await device.invoke('repositories_GetVersionDetails', { versionId })) as {
    metadata: { imageVersion: string }
  }
  await report(device, { currentVersion: metadata.imageVersion, state: 'completed' })
}

/** Counts the steps of a person: a click, a typed text or a pasted command. */
function counting() {
  const done: string[] = []
  return {
    done,
    async step(what: string, act: () => Promise<unknown>) {
      await act()
      done.push(what)
    },
  }
}

const packagesPage = () => `${stage.hub.url}/${organizationId}/repositories/${repositoryId}/packages`
const versionPage = (word: string) => `${packagesPage()}/${packageId}/versions/${versions[word]}`
const projectPage = () => `${stage.hub.url}/${organizationId}/projects/${projectId}`
const region = (name: string) => page.getByRole('region', { name, exact: true })
const rowOf = (text: string) => page.getByRole('row').filter({ hasText: text })

it('shows the newest version of each package and the devices that run it', async () => {
  await newPackage('site-config')
  await page.goto(packagesPage())
  await rowOf('gateway-os').getByText('0 of 3').waitFor()
  await rowOf('gateway-os').getByText('stable is on 2.22.4').waitFor()
  await rowOf('site-config').getByText('no device reports it').waitFor()
  await expectGoodScreen(page, 'packages-usage')
  const names = () =>
    page
      .getByRole('row')
      .getByRole('link', { name: /^(gateway-os|site-config)$/ })
      .allInnerTexts()
  expect(await names()).toEqual(['gateway-os', 'site-config'])
  await page.getByRole('button', { name: 'Created', exact: true }).click()
  await page.getByRole('button', { name: 'Created', exact: true }).click()
  await page.waitForURL(/[?&]sort=-latest/)
  await expect.poll(names).toEqual(['site-config', 'gateway-os'])
})

it('releases a version to a tag by the command that the page shows, and shows the devices arrive', async () => {
  const { done, step } = counting()
  await page.clock.install()
  await step('opens the newest version from the list', () =>
    rowOf('gateway-os').getByRole('link', { name: '2.23.0' }).click(),
  )
  await page.getByRole('heading', { level: 1, name: 'gateway-os 2.23.0' }).waitFor()
  await page.getByRole('heading', { name: 'Nobody runs it yet' }).waitFor()
  await page.getByText('3 devices follow stable.').waitFor()
  await expectGoodScreen(page, 'version-new')
  await addFile()
  await page.reload()
  await page.getByText('Next: give it to the 3 devices that follow stable.').waitFor()
  await expectGoodScreen(page, 'version-complete')
  const command = 'muster versions tag fleet/gateway-os/2.23.0 --tag stable,reassign'
  const shown = page.getByRole('listitem').filter({ hasText: command })
  await step('copies the command', () => shown.getByRole('button', { name: /^Copy/ }).click())
  await expect.poll(() => page.evaluate<string>('navigator.clipboard.readText()')).toBe(command)
  await step('pastes it in the terminal', async () => {
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    const { code, err } = await cli.run(copied.split(' ').slice(1))
    expect({ code, err }).toEqual({ code: 0, err: '' })
  })
  await page.getByText('stable is here').waitFor()
  await update(followers[0]!)
  await polled(
    region('Devices').getByRole('heading', { name: /33 % of 3 devices that report gateway-os run it/ }),
    POLL_MS,
  )
  await Promise.all(followers.slice(1).map(update))
  await polled(
    region('Devices').getByRole('heading', { name: /100 % of 3 devices that report gateway-os run it/ }),
    POLL_MS,
  )
  expect(done).toHaveLength(3)
  expect(new URL(page.url()).pathname).toBe(new URL(versionPage('2.23.0')).pathname)
  const back = 'muster versions tag fleet/gateway-os/2.22.4 --tag stable,reassign'
  await region('Move a tag').getByText(back).waitFor()
  await region('Tags').getByText('3 follow it').waitFor()
  await region('Tags').getByText('before on 2.22.4').waitFor()
  await expectGoodScreen(page, 'version-running')
})

it('finds the 19 devices that fail for one reason', async () => {
  await addFailing()
  // Four of the last six hours were counted.
  await changeDatabase(
    stage.hub,
    `insert into software_sample (project_id, sampled_at, counts)
     select '${projectId}', date_trunc('hour', now()) - n * interval '1 hour', '{"${versions['2.23.0']}": 3}'
       from unnest(array[1, 3, 4, 5]) n
     on conflict do nothing`,
  )
  const { done, step } = counting()
  await page.goto(`${projectPage()}/devices`)
  await step('opens the software of the project', () =>
    page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Software' }).click(),
  )
  await polled(page.getByText('27 devices failed to update.'), POLL_MS)
  await rowOf('2.21.4').getByRole('link', { name: '17 failed, 2.21.4' }).waitFor()
  await expectGoodScreen(page, 'software')
  await step('opens the version that devices should run', () =>
    page.getByRole('link', { name: '2.23.0', exact: true }).first().click(),
  )
  await page.getByText('27 devices failed to install 2.23.0.').waitFor()
  await page.getByText(`19 of them for one reason: ${NO_SPACE}.`).waitFor()
  const chart = region('Devices on this version, last 14 days')
  await chart.getByRole('img', { name: /^Devices on 2\.23\.0: 3 at first, \d+ now\./ }).waitFor()
  await chart.getByText(/^Counted since \d/).waitFor()
  await expectGoodScreen(page, 'version-failing')
  await step('opens the list of the reason', () =>
    page.getByRole('link', { name: `19 devices: ${NO_SPACE}` }).click(),
  )
  await page.getByText('Failed to install gateway-os 2.23.0').waitFor()
  await page.getByText('19 of 530 devices').first().waitFor()
  expect(done).toHaveLength(3)
  await expectGoodScreen(page, 'devices-failing-version')
  await page.getByRole('button', { name: /^Remove condition: Failed to install/ }).click()
  await page.waitForURL(url => !url.searchParams.has('software'))
})

it('says that counting failed, and keeps the rest of the page', async () => {
  await page.route('**/invoke/repositories_GetVersionUsage', route =>
    route.fulfill({ status: 500, json: { kind: 'Internal', message: 'No.' } }),
  )
  await page.goto(versionPage('2.23.0'))
  await page.getByText('Could not count devices.').waitFor()
  await region('Tags').getByText('stable').waitFor()
  await page.getByRole('heading', { name: 'Assets', exact: true }).waitFor()
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Try again' }).click()
  await region('Failures by reason').waitFor()
})

it('shows versions that nobody made as devices report them', async () => {
  await report(followers[0]!, { currentVersion: '<b>9.9</b>', state: 'idle' })
  await page.goto(`${projectPage()}/software`)
  await rowOf('<b>9.9</b>').getByText('not in this package').waitFor()
  await rowOf('<b>9.9</b>')
    .getByRole('link', { name: /1 device on/ })
    .click()
  await page.getByText('Reports gateway-os <b>9.9</b>').waitFor()
  expect(stage.faults).toEqual([])
})

/** Adds an uploaded file to the version 2.23.0. */
async function addFile(): Promise<void> {
  const assetId = `repo_a_${'1'.repeat(22)}`
  await changeDatabase(
    stage.hub,
    `insert into asset (asset_id, repository_id, size_bytes, digest, status)
     values ('${assetId}', '${repositoryId}', 2097152, 'sha256_${'a'.repeat(64)}', 'Available')`,
  )
  await changeDatabase(
    stage.hub,
    `insert into version_asset (version_id, filename, asset_id)
     values ('${versions['2.23.0']}', 'gateway-arm64.rugixb', '${assetId}')`,
  )
}

/** Adds 500 devices that run 2.23.0 and 27 devices that failed to install it, 19 of them because of a full disk. */
async function addFailing(): Promise<void> {
  await changeDatabase(
    stage.hub,
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name)
     select 'd_' || id, '${projectId}', 'd_pk_' || id, sha256(i::text::bytea), 'crane-' || lpad(i::text, 4, '0')
       from generate_series(1, 527) i, lateral (select left(translate(md5('f' || i), '0', 'z'), 22) as id) as named`,
  )
  await changeDatabase(
    stage.hub,
    `insert into device_update (device_id, property_version, path, current_version, target_version, state, failure_count, error)
     select device_id, 1, 'fleet/gateway-os/stable',
            case when place > 27 then '2.23.0' when place > 17 then '2.22.4' else '2.21.4' end, '2.23.0',
            case when place > 27 then 'completed' else 'failed' end, case when place <= 27 then place % 6 + 1 end,
            case when place <= 19 then '${NO_SPACE}' when place <= 24 then 'download stopped: no bytes for # s'
                 when place <= 27 then 'digest does not match' end
       from (select device_id, substr(name, 7)::int as place from device where name like 'crane-%') d`,
  )
}
