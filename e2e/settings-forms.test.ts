import { type FakeS3, fakeS3 } from '@muster/testkit/fake-s3'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { expectGoodScreen, invoke, openStage, organizationOf, type Stage, startSession } from './people.ts'

let stage: Stage
let page: Page
let store: FakeS3
let organizationId: string
let projectId: string
let repositoryId: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  store = resources.use(await fakeS3())
  stage = resources.use(await openStage({ MUSTER_OUTBOUND_ALLOW: '127.0.0.1' }))
  page = await stage.signedInPage()
  organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  projectId = projects[0]!.projectId
  await invoke(page, 'repositories_Create', { organizationId, name: 'taken-slug' })
  const made = await invoke(page, 'repositories_Create', { organizationId, name: 'crane-images' })
  if (made.result === 'Created') repositoryId = made.repositoryId
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

it('renames a project and an organization', async () => {
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/settings`)
  const form = page.getByRole('region', { name: 'Project', exact: true })
  await form.getByLabel('Name (required)').fill('  ')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByRole('alert').getByText('Name must not be empty.').waitFor()
  await form.getByLabel('Name (required)').fill('Harbor cranes, pier 1')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Project renamed to Harbor cranes, pier 1.').waitFor()
  await page.locator('aside').getByText('Harbor cranes, pier 1').waitFor()

  await page.goto(`${stage.hub.url}/${organizationId}/settings`)
  await page.getByRole('link', { name: 'General' }).click()
  await heading('General')
  const organization = page.getByRole('region', { name: 'Organization', exact: true })
  await organization.getByLabel('Name (required)').fill('Nordwind Terminals')
  await organization.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Organization renamed to Nordwind Terminals.').waitFor()
  await page.getByRole('banner').getByText('Nordwind Terminals').waitFor()
  await expectGoodScreen(page, 'organization-general')
})

it('C36: outlines a disabled primary button in save bars and dialog feet', async () => {
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/settings`)
  const form = page.getByRole('region', { name: 'Project', exact: true })
  await form.getByLabel('Name (required)').fill('  ')
  await form.getByRole('button', { name: 'Save' }).click()
  await expectOutline()
  await page.goto(`${stage.hub.url}/${organizationId}/projects`)
  await page.getByRole('button', { name: 'Create Project' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Create Project' }).click()
  await expectOutline()
})

/** Expects that the disabled button of a form has the background of its surroundings and an outline of another colour. */
async function expectOutline() {
  const colours = () =>
    page.evaluate(`(() => {
      const element = document.querySelector('button[type=submit]:disabled')
      if (!element) return
      const { borderTopColor, backgroundColor } = getComputedStyle(element)
      const around = getComputedStyle(element.parentElement).backgroundColor
      return {
        hasColourAround: backgroundColor === around,
        isOutlined: ![backgroundColor, 'rgba(0, 0, 0, 0)'].includes(borderTopColor),
      }
    })()`)
  // Colours change in 120 ms.
  await expect.poll(colours).toEqual({ hasColourAround: true, isOutlined: true })
}

it('pins properties of a project for everyone, in an order that people change', async () => {
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/settings`)
  const section = page.getByRole('region', { name: 'Pinned properties' })
  const pin = async (label: string, name: string) => {
    await section.getByRole('button', { name: 'Pin a property' }).click()
    await section.getByLabel('Label (optional)').fill(label)
    await section.getByLabel('Property (required)').fill(name)
    await section.getByRole('button', { name: 'Save property' }).click()
    await page.getByText(`${label || name} is pinned.`).waitFor()
  }
  await pin('Site', 'site')
  await pin('', 'app.crane.mode')
  await section.getByRole('button', { name: 'Pin a property' }).click()
  await section.getByLabel('Property (required)').fill('site')
  await section.getByRole('button', { name: 'Save property' }).click()
  await section.getByRole('alert').getByText('This property is pinned already.').waitFor()
  await expectGoodScreen(page, 'project-settings-pins')
  await section.getByRole('button', { name: 'Cancel' }).click()
  const titles = () => section.locator('li > b').allInnerTexts()
  expect(await titles()).toEqual(['Site', 'app.crane.mode'])
  await section.getByRole('button', { name: 'Move app.crane.mode up' }).click()
  await expect.poll(titles).toEqual(['app.crane.mode', 'Site'])
  await section.getByRole('button', { name: 'Edit app.crane.mode' }).click()
  await section.getByRole('button', { name: 'Remove' }).click()
  await expect.poll(titles).toEqual(['Site'])
  await page.getByRole('region', { name: 'Retention' }).getByText('90 days').first().waitFor()
  await page
    .getByText(/^Removes the project with its \d+ devices? and \d+ tokens? .* disconnects \d+ devices? now\./)
    .waitFor()
  await expectGoodScreen(page, 'project-settings')

  const { deviceId } = await invoke(page, 'devices_Create', {
    projectId,
    fingerprint: `d_sk_${'7'.repeat(44)}`,
  })
  for (const [name, value] of [
    ['site', 'Pier 4'],
    ['app.crane.load', 12],
  ] as const)
    await invoke(page, 'devices_SetProperty', { deviceId, name, value })
  await invoke(page, 'projects_SetPins', { projectId, properties: ['app.crane.load'] })
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/devices/${deviceId}`)
  const properties = page.getByRole('region', { name: 'Properties' })
  await properties.getByRole('heading', { name: 'Pinned' }).waitFor()
  // A person's own pins are listed before the pins of the project.
  const pinned = await properties.locator('h3:has-text("Pinned") + ul > li .properties-key').allInnerTexts()
  expect(pinned).toEqual(['app.crane.load', 'Site\nsite'])
})

it('renames a repository with its slug, or neither when the slug is taken', async () => {
  await page.goto(`${stage.hub.url}/${organizationId}/repositories/${repositoryId}/settings`)
  const form = page.getByRole('region', { name: 'Repository', exact: true })
  await form.getByText('No device follows a path with the current slug crane-images.').waitFor()
  await form.getByLabel('Name (required)').fill('Crane images')
  await form.getByLabel('Slug (required)').fill('taken-slug')
  await form.getByRole('button', { name: 'Save' }).click()
  await form
    .getByRole('alert')
    .getByText('This slug is taken. Free: taken-slug-2, taken-slug-3. Nothing was changed.')
    .waitFor()
  await expectGoodScreen(page, 'repository-slug-taken')
  const details = () => invoke(page, 'repositories_GetDetails', { repositoryId })
  expect(await details()).toMatchObject({ displayName: 'crane-images', slug: 'crane-images' })
  await form.getByLabel('Slug (required)').fill('pier-images')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Repository renamed to Crane images.').waitFor()
  expect(await details()).toMatchObject({ displayName: 'Crane images', slug: 'pier-images' })
  await form.getByText('The old slug keeps leading to this repository.').waitFor()
})

it('C33: tests an S3 configuration step by step, and saves one that fails only on request', async () => {
  await page.reload()
  const section = page.getByRole('region', { name: 'S3 Configuration' })
  const test = section.getByRole('button', { name: /^Test/ })
  await test.click()
  await section.getByRole('alert').getByText('Secret access key must not be empty.').waitFor()
  await section.getByLabel('Endpoint (required)').fill(store.endpoint)
  await section.getByLabel('Bucket (required)').fill(store.bucket)
  await section.getByLabel('Region (required)').fill(store.region)
  await section.getByLabel('Access key id (required)').fill(store.accessKeyId)
  await section.getByLabel('Secret access key (required)').fill(store.secretAccessKey)
  store.misbehave({ method: 'PUT', does: 'answers', status: 403, code: 'AccessDenied' })
  await test.click()
  const result = section.getByRole('status', { name: 'Result of the test' })
  await result.getByText('The test failed at step 3 of 5.').waitFor()
  await result.getByText(/^Give the key s3:PutObject, s3:GetObject and s3:DeleteObject on /).waitFor()
  expect(await result.getByText('Not tried').count()).toBe(2)
  await expectGoodScreen(page, 'repository-test-failed')
  store.behave()
  await test.click()
  await result.getByText('The test passed: all 5 steps.').waitFor()
  await expectGoodScreen(page, 'repository-test-passed')
  await section.getByLabel('Endpoint (required)').fill('http://10.0.0.1:9000')
  await test.click()
  await result.getByText('The test failed at step 1 of 5.').waitFor()
  await result.getByText('MUSTER_OUTBOUND_ALLOW', { exact: false }).waitFor()
  expect(await result.getByText(/\d ms$/).count()).toBe(0)
  expect(store.objects.size).toBe(0)
  expect(await invoke(page, 'repositories_GetS3Config', { repositoryId })).not.toHaveProperty('s3Endpoint')

  // C33: a store that cannot be reached yet can be saved all the same.
  await section.getByRole('button', { name: 'Save anyway' }).click()
  await page.getByText('S3 configuration saved without a test.').waitFor()
  const saved = await invoke(page, 'repositories_GetS3Config', { repositoryId })
  expect(saved).toMatchObject({ s3Endpoint: 'http://10.0.0.1:9000' })
  await expect.poll(() => section.getByRole('button', { name: 'Save anyway' }).count()).toBe(0)
  await section.getByRole('button', { name: 'Use the hub’s storage' }).click()
  await page.getByText('New assets are stored by the hub itself.').waitFor()
})

it('ends all other sessions of the person', async () => {
  const elsewhere = await stage.newPage()
  await startSession(elsewhere, stage)
  await page.goto(`${stage.hub.url}/settings/sessions`)
  const endOthers = page.getByRole('button', { name: 'End all other sessions' })
  await endOthers.waitFor()
  await expectGoodScreen(page, 'sessions-others')
  await endOthers.click()
  await page.getByText('1 other session ended.').waitFor()
  // The button keeps its place without other sessions, so that the page does not move.
  await expect.poll(() => endOthers.isDisabled()).toBe(true)
  await elsewhere.goto(`${stage.hub.url}/settings/profile`)
  await elsewhere.waitForURL(/\/login/)
  await elsewhere.context().close()
  expect(stage.faults).toEqual([])
})
