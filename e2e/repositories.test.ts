import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { until } from '@muster/testkit/until'
import type { Download, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import {
  countingRequests,
  expectGoodScreen,
  invoke,
  openStage,
  organizationOf,
  type Stage,
} from './people.ts'

/** Content of the uploaded file. */
const IMAGE = Buffer.from('not quite an image\n'.repeat(70_000))
const LONG_FILENAME = `boot/${'x'.repeat(60)}/überlanger name <b>fett 🚜.bin`

let stage: Stage
let page: Page
/** Second tab of the signed-in person, which must show the changes made in the first tab. */
let other: Page
let organizationId: string
let repositoryId: string
let packageId: string
let versionId: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  page = await stage.signedInPage()
  organizationId = await organizationOf(page)
  other = await page.context().newPage()
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

it('leads from the top bar to the repositories, with a hint how to begin', async () => {
  const nav = page.getByRole('navigation', { name: 'Organization' })
  await nav.getByRole('link', { name: 'Repositories' }).click()
  await page.waitForURL(`${stage.hub.url}/${organizationId}/repositories/`)
  await page.getByRole('heading', { level: 2, name: 'Create your first repository' }).waitFor()
  expect(await nav.getByRole('link', { name: 'Repositories' }).getAttribute('aria-current')).toBe('page')
  await expectGoodScreen(page, 'repositories-empty')
  // The path without a trailing slash leads to this page as well.
  await other.goto(`${stage.hub.url}/${organizationId}/repositories`)
  await other.getByRole('heading', { level: 2, name: 'Create your first repository' }).waitFor()
})

it('creates a repository by name, opens it and shows it in the other tab', async () => {
  const dialog = await openNewRepository()
  await dialog.getByRole('button', { name: 'Create Repository' }).click()
  // The console itself does not validate the name. It shows the hub's error.
  await dialog.getByRole('alert').getByText('The repository was not created.').waitFor()
  await expectGoodScreen(page, 'new-repository-refused')
  await dialog.getByLabel('Name (required)').fill(' fleet-images ')
  const sent = await countingRequests(page, 'repositories_Create', async () => {
    await dialog.getByRole('button', { name: 'Create Repository' }).dblclick()
    await page.waitForURL(/\/repositories\/repo_\w+\/packages$/)
  })
  expect(sent).toBe(1)
  repositoryId = new URL(page.url()).pathname.split('/').at(-2)!
  await page.getByText('fleet-images', { exact: true }).waitFor()
  await other.getByRole('link', { name: 'fleet-images' }).waitFor()
})

it('C8: shows at the field that the name is taken, and writes a single message to the console', async () => {
  await page.getByRole('link', { name: 'All Repositories' }).click()
  await page.waitForURL(`${stage.hub.url}/${organizationId}/repositories/`)
  const messages: string[] = []
  page.on('console', message => messages.push(message.text()))
  const dialog = await openNewRepository()
  await dialog.getByLabel('Name (required)').fill('fleet-images')
  await dialog.getByRole('button', { name: 'Create Repository' }).click()
  await until('a message on the console', () => messages.length > 0)
  expect(messages).toEqual(['The repository was not created NameAlreadyExists'])
  // The console logs the message before it renders the error, so the test polls for the alert.
  await expect.poll(() => dialog.getByRole('alert').allInnerTexts()).toEqual(['This name is taken.'])
  const field = dialog.getByLabel('Name (required)')
  expect(await field.getAttribute('aria-invalid')).toBe('true')
  await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('name')
  await expectGoodScreen(page, 'new-repository-taken')
  await field.fill('fleet-images-2')
  expect(await dialog.getByRole('alert').count()).toBe(0)
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
})

it('shows repositories as cards with their content, and filters them on the hub', async () => {
  await invoke(page, 'repositories_Create', {
    organizationId,
    displayName: `<b>Fett</b> ${'lang '.repeat(20)}`,
  })
  await invoke(page, 'repositories_Create', {
    organizationId,
    name: 'Agent Öffentlich',
    visibility: 'Public',
  })
  const card = page.getByRole('listitem').filter({ hasText: 'fleet-images' })
  await card.getByText('Private', { exact: true }).waitFor()

  await card.getByText('0 packages', { exact: true }).waitFor()
  await card.getByText('0 assets', { exact: true }).waitFor()
  await page.getByRole('listitem').getByText('Public', { exact: true }).waitFor()
  await expectGoodScreen(page, 'repositories')
  const box = page.getByLabel('Filter repositories')
  await box.fill('öffent')
  await card.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Agent Öffentlich' }).waitFor()
  expect(new URL(page.url()).searchParams.get('q')).toBe('öffent')
  await box.fill('nothing like it')
  await page.getByText('No repositories match this filter.').waitFor()
  await expectGoodScreen(page, 'repositories-none-match')
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await card.waitFor()
})

it('leads from the short URL of a repository to its packages', async () => {
  await page.goto(`${stage.hub.url}/${organizationId}/${repositoryId}`)
  await page.waitForURL(`${stage.hub.url}/${organizationId}/repositories/${repositoryId}/packages`)
  const nav = page.getByRole('navigation', { name: 'Repository', exact: true })
  await nav.getByRole('link', { name: 'Packages', exact: true }).waitFor()
  expect((await nav.getByRole('link').allInnerTexts()).map(text => text.split('\n')[0])).toEqual([
    'Packages',
    'Assets',
    'Audit Log',
    'Settings',
  ])
  await page.getByText(repositoryId, { exact: true }).waitFor()
  await expect.poll(() => page.title()).toMatch(/^Packages · fleet-images/)
})

it('shows the commands that manage the packages of this repository', async () => {
  await page.getByRole('heading', { level: 2, name: 'No packages yet.' }).waitFor()
  await sentence().waitFor()
  for (const text of [
    'muster login --hub http://',
    'muster packages create fleet-images PACKAGE',
    'muster versions create fleet-images/PACKAGE --tag TAG',
    'muster assets upload fleet-images/PACKAGE/TAG FILE',
  ])
    await command(text).waitFor()
  await expectGoodScreen(page, 'packages-empty')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Copy the command: Create a package' }).click()
  await until('the command in the clipboard', async () => {
    const copied: unknown = await page.evaluate('navigator.clipboard.readText()')
    return copied === 'muster packages create fleet-images PACKAGE'
  })
})

it('lists packages by name, shows new ones at once, and filters and sorts them on the hub', async () => {
  for (const name of ['os-image', 'agent', `x${'y'.repeat(127)}`]) {
    const made = await invoke(page, 'repositories_CreatePackage', { repositoryId, name })
    if (name === 'os-image' && made.result === 'Created') packageId = made.packageId
  }
  await rowOf('os-image').getByRole('link', { name: 'View os-image' }).waitFor()
  await sentence().waitFor()
  await command('muster packages create').waitFor({ state: 'hidden' })
  await expectHeads(['Name', 'Latest version', 'Its tags', 'Created', 'Devices that run it', 'Actions'])
  await expectGoodScreen(page, 'packages')
  await page.getByRole('button', { name: 'Name' }).click()
  await until('the other order', async () => (await names())[0]!.startsWith('xyy'))
  expect(new URL(page.url()).searchParams.get('sort')).toBe('-name')
  // The commands are hidden until a person clicks the sentence.
  await sentence().click()
  await command('muster packages create fleet-images PACKAGE').waitFor()
  await expectGoodScreen(page, 'packages-commands')
  await page.getByLabel('Filter packages').fill('nothing like it')
  await page.getByText('No packages match this filter.').waitFor()
  await page.getByLabel('Filter packages').fill('os-')
  await page.waitForURL(/q=os-/)
  await page.reload()
  await rowOf('os-image').waitFor()
  expect(await names()).toEqual(['os-image'])
})

it('shows the versions of a package, and marks locked tags by style and text', async () => {
  await page.getByRole('link', { name: 'os-image', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'os-image' }).waitFor()
  await page.getByRole('heading', { level: 2, name: 'No versions.' }).waitFor()
  await command('muster versions create fleet-images/os-image --tag TAG').waitFor()
  await expectGoodScreen(page, 'versions-empty')
  await invoke(page, 'repositories_CreateVersion', { packageId, tags: [{ tag: '1.3.9' }, { tag: 'stable' }] })
  const made = await invoke(page, 'repositories_CreateVersion', {
    packageId,
    name: 'Winter <i>release</i>',
    tags: [{ tag: '1.4.0', locked: true }, ...['a', 'b', 'c', 'd'].map(tag => ({ tag: `candidate-${tag}` }))],
  })
  versionId = made.versionId
  await invoke(page, 'repositories_CreateVersion', {
    packageId,
    tags: [{ tag: 'y'.repeat(128), locked: true }],
  })
  await expectHeads(['Id', 'Created At', 'Tags', 'Actions'])
  const row = rowOf(versionId)
  await row.getByText('1.4.0 locked').waitFor()
  expect(await row.locator('.badge[data-locked]').count()).toBe(1)
  expect(await row.locator('.badge').count()).toBe(4)
  await row.getByRole('button', { name: 'Show 1 more tags' }).waitFor()
  await expectGoodScreen(page, 'versions')
  await row.getByRole('button', { name: 'Show 1 more tags' }).click()
  expect(await row.locator('.badge').count()).toBe(5)

  // The page shows a moved tag without a reload.
  await invoke(page, 'repositories_TagVersion', { versionId, tags: [{ tag: 'stable' }] })
  await row.getByText('stable', { exact: true }).waitFor()
  await page.getByLabel('Filter versions').fill('1.3.9')
  await row.waitFor({ state: 'detached' })
  await page.getByLabel('Filter versions').fill('nothing like it')
  await page.getByText('No versions match this filter.').waitFor()
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await row.waitFor()
  await page.getByRole('button', { name: 'Created At' }).click()
  await page.waitForURL(/sort=createdAt/)
  await until('the oldest first', async () =>
    (await page.getByRole('row').nth(1).innerText()).includes('1.3.9'),
  )
  await page.getByRole('button', { name: 'Created At' }).click()
  await page.waitForURL(url => !url.searchParams.has('sort'))
})

it('fits a long package name', async () => {
  await page.getByRole('link', { name: 'Packages', exact: true }).first().click()
  await page.getByRole('link', { name: /^xyy/ }).click()
  await page.getByRole('heading', { level: 1, name: /^xyy/ }).waitFor()
  await expectGoodScreen(page, 'package-long-name')
  await page.goBack()
  await page.getByRole('link', { name: 'os-image', exact: true }).click()
})

it('shows a version with its tags, and how to add files to it', async () => {
  await page.getByRole('link', { name: 'View Winter <i>release</i>' }).click()
  await page.getByRole('heading', { level: 1, name: 'Winter <i>release</i>' }).waitFor()
  const crumb = page.getByRole('navigation', { name: 'Breadcrumb' })
  expect(await crumb.getByRole('link').allInnerTexts()).toEqual(['Packages', 'os-image'])
  await page.getByText(versionId, { exact: true }).waitFor()
  await page.getByRole('region', { name: 'Tags', exact: true }).getByText('1.4.0 locked').waitFor()
  await page.getByRole('heading', { name: 'This version has no assets.' }).waitFor()
  await command('muster assets upload fleet-images/os-image/1.4.0 FILE').first().waitFor()
  await expectGoodScreen(page, 'version-empty')
})

it('lists the files of a version, marks missing ones, and downloads available ones', async () => {
  const assetId = await registered(IMAGE)
  for (const filename of ['image.raw', LONG_FILENAME])
    await invoke(page, 'repositories_AddVersionAsset', { versionId, assetId, filename })
  const row = rowOf('image.raw')
  await row.getByText('Not uploaded', { exact: true }).waitFor()
  expect(await row.getByRole('button', { name: 'Download image.raw' }).isDisabled()).toBe(true)
  await expectHeads(['Filename', 'Digest', 'Size in bytes', 'Actions'])
  await row.getByText(`sha256_${sha256(IMAGE)}`, { exact: true }).waitFor()
  await row.getByText('1,330,000', { exact: true }).waitFor()
  await expectGoodScreen(page, 'version-not-uploaded')

  const { url } = await invoke(page, 'repositories_IssueAssetUploadUrl', { assetId })
  const uploaded = await fetch(url, { method: 'PUT', body: new Uint8Array(IMAGE) })
  expect(uploaded.status, await uploaded.text()).toBeLessThan(300)
  await row.getByText('Not uploaded').waitFor({ state: 'detached' })
  await expectGoodScreen(page, 'version')
  // Each click requests a new download URL.
  for (const filename of ['image.raw', LONG_FILENAME]) expect(await downloaded(filename)).toEqual(IMAGE)
})

it('shows in the page why a file cannot be downloaded', async () => {
  await page.route('**/repositories_IssueAssetDownloadUrl', route =>
    route.fulfill({ status: 403, json: { kind: 'Forbidden', message: 'This is not permitted.' } }),
  )
  await page.getByRole('button', { name: 'Download image.raw' }).click()
  const alert = page.getByRole('alert').filter({ hasText: 'Could not download image.raw' })
  await alert.getByText('This is not permitted.').waitFor()
  await expectGoodScreen(page, 'version-download-refused')
  await alert.getByRole('button').click()
  await page.unrouteAll()
})

it('shows the first hundred files, and more on a click or by a filter', async () => {
  const digest = `sha256_${'ab'.repeat(32)}`
  await page.route('**/repositories_GetVersionDetails', async route => {
    const answer = await route.fetch()
    const assets = Array.from({ length: 1000 }, (_, n) => ({
      filename: `part-${String(n).padStart(4, '0')}.bin`,
      assetId: `repo_a_${'A'.repeat(22)}`,
      size: n,
      digest,
      status: 'Available',
      metadata: {},
    }))
    await route.fulfill({ json: { ...((await answer.json()) as object), assets } })
  })
  await page.reload()
  await page.getByText('100 of 1,000 assets').waitFor()
  await page.getByRole('button', { name: 'Load more' }).click()
  await page.getByText('200 of 1,000 assets').waitFor()
  await page.getByLabel('Filter assets').fill('part-099')
  await page.getByText('part-0999.bin').waitFor()
  expect(await page.getByRole('row').count()).toBe(11)
  await expectGoodScreen(page, 'version-filtered')
  await page.getByLabel('Filter assets').fill('nothing like it')
  await page.getByText('No assets match this filter.').waitFor()
  await page.unrouteAll({ behavior: 'wait' })
})

it('lists the assets of the repository', async () => {
  await page
    .getByRole('navigation', { name: 'Repository', exact: true })
    .getByRole('link', { name: 'Assets' })
    .click()
  const row = rowOf(sha256(IMAGE))
  await row.getByText('1,330,000', { exact: true }).waitFor()
  await expectHeads(['Name', 'Digest', 'Size in bytes'])
  await registered(Buffer.from('never sent'))
  await page.getByText('Not uploaded', { exact: true }).waitFor()
  await expectGoodScreen(page, 'assets')
  await page.getByRole('button', { name: 'Size in bytes' }).click()
  await until('the smallest first', async () =>
    (await page.getByRole('row').nth(1).innerText()).includes('Not uploaded'),
  )
  await page.getByLabel('Filter assets').fill(sha256(IMAGE).slice(0, 12))
  await page.getByText('Not uploaded').waitFor({ state: 'detached' })
  await page.getByLabel('Filter assets').fill('nothing like it')
  await page.getByText('No assets match this filter.').waitFor()
})

it('shows the events of the repository in the audit log', async () => {
  await page.getByRole('link', { name: 'Audit Log' }).click()
  await page.getByRole('heading', { level: 1, name: 'Audit Log' }).waitFor()
  await expectHeads(['Timestamp', 'What happened', 'Type', 'Actor', 'Action/Job id'])
  for (const type of ['repositories_Created', 'repositories_PackageVersionTagged'])
    await page.getByRole('row').filter({ hasText: type }).first().waitFor()
  await expectGoodScreen(page, 'repository-log')
})

it('links repositories to a project and unlinks them without confirmation', async () => {
  page.on('dialog', dialog => stage.faults.push(`asked: ${dialog.message()}`))
  await page.goto(`${stage.hub.url}/${organizationId}/projects`)
  await page.getByRole('link', { name: 'First project' }).click()
  await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Repositories' }).click()
  await page.getByRole('heading', { level: 2, name: 'No repository linked.' }).waitFor()
  const link = page.getByRole('button', { name: 'Link Repository' })
  await link.click()
  await page.getByRole('alert').getByText('Choose a repository.', { exact: true }).waitFor()
  expect(await link.isDisabled()).toBe(true)
  await expectGoodScreen(page, 'linked-none')

  const box = page.getByRole('combobox', { name: 'Repository (required)' })
  await box.click()
  await expect.poll(() => page.getByRole('option').count()).toBe(3)
  await expectGoodScreen(page, 'link-repository', async () => {
    await link.press('Tab')
    await box.click()
    await page.getByRole('option').first().waitFor()
  })
  await box.fill('FLEET')
  await expect.poll(() => page.getByRole('option').count()).toBe(1)
  await box.press('ArrowDown')
  await box.press('Enter')
  expect(await box.inputValue()).toBe('fleet-images')
  await Promise.all([page.getByText('Repository fleet-images linked.').waitFor(), box.press('Enter')])
  await rowOf('fleet-images').waitFor()
  expect(await box.inputValue()).toBe('')
  await box.press('ArrowDown')
  const linked = page.getByRole('option', { name: /fleet-images/ })
  await linked.getByText('already linked').waitFor()
  expect(await linked.getAttribute('aria-disabled')).toBe('true')
  await box.press('Escape')
  expect(await page.getByRole('option').count()).toBe(0)
  await expectGoodScreen(page, 'linked')

  await page.getByRole('button', { name: 'Unlink fleet-images' }).click()
  await page.getByRole('heading', { level: 2, name: 'No repository linked.' }).waitFor()
  expect(stage.faults).toEqual([])
  page.removeAllListeners('dialog')
})

it('lists a few of many repositories and finds the others by typing', async () => {
  for (let n = 0; n < 21; n++)
    await invoke(page, 'repositories_Create', { organizationId, name: `zone-${n}` })
  await page.reload()
  const box = page.getByRole('combobox', { name: 'Repository (required)' })
  await box.click()
  await page.getByText('4 more: type part of a name.').waitFor()
  await box.fill('zone-20')
  await page.getByRole('option', { name: /zone-20/ }).click()
  await page.getByRole('button', { name: 'Link Repository' }).click()
  await rowOf('zone-20').waitFor()
  await box.fill('nothing like it')
  await page.getByText('No repository matches.').waitFor()
  // Typed text without a selected repository links nothing.
  await page.getByRole('button', { name: 'Link Repository' }).click()
  await page.getByRole('alert').getByText('Choose a repository.', { exact: true }).waitFor()
})

it('checks the S3 configuration and keeps the typed values when the hub refuses it', async () => {
  await page.goto(`${stage.hub.url}/${organizationId}/repositories/${repositoryId}/settings`)
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
  const section = page.getByRole('region', { name: 'S3 Configuration' })
  const save = section.getByRole('button', { name: 'Save' })
  await section.getByLabel('Secret access key (required)').waitFor()
  expect(await section.getByText('Enter the secret again to save.').count()).toBe(0)
  await expectGoodScreen(page, 'repository-settings')
  await save.click()
  for (const text of [
    'Endpoint must not be empty.',
    'Bucket must not be empty.',
    'Region must not be empty.',
    'Access key id must not be empty.',
    'Secret access key must not be empty.',
  ])
    await section.getByRole('alert').getByText(text, { exact: true }).waitFor()
  expect(await section.getByRole('alert').count()).toBe(5)
  expect(await save.isDisabled()).toBe(true)
  await expectGoodScreen(page, 'repository-settings-errors')
  await fillS3()
  await section.getByLabel('Secret access key (required)').fill('')
  await section.getByRole('alert').getByText('Secret access key must not be empty.').waitFor()
  await section.getByLabel('Secret access key (required)').fill('aSecretOfManyLetters')
  await save.click()
  const refusal = section.getByRole('alert').filter({ hasText: 'The S3 configuration was not saved.' })
  await refusal.getByText('not a public address', { exact: false }).waitFor()
  await expectGoodScreen(page, 'repository-settings-refused')
  expect(await section.getByLabel('Bucket (required)').inputValue()).toBe('fleet')
  expect(await section.getByLabel('Secret access key (required)').inputValue()).toBe('aSecretOfManyLetters')
})

it('fills the form with the stored values, but never with a secret and never over typed text', async () => {
  const stored = {
    s3Endpoint: 'https://s3.halden.example',
    s3Bucket: 'fleet',
    s3Region: 'eu-north-1',
    s3Prefix: 'muster/',
    s3AccessKeyId: 'AKIAEXAMPLE',
  }
  const { s3Endpoint, s3Bucket: bucket, s3AccessKeyId } = stored
  const s3Config = { endpoint: s3Endpoint, bucket, accessKeyId: s3AccessKeyId }
  let sent: unknown
  await page.route('**/repositories_SetS3Config', route => {
    sent = route.request().postDataJSON()
    return route.fulfill({ json: {} })
  })
  await page.route('**/repositories_GetS3Config', route => route.fulfill({ json: { ...stored, s3Config } }))
  await page.reload()
  const section = page.getByRole('region', { name: 'S3 Configuration' })
  const field = (name: string) => section.getByLabel(name)
  await expect.poll(() => field('Endpoint (required)').inputValue()).toBe(stored.s3Endpoint)
  await section.getByText('Enter the secret again to save.', { exact: true }).waitFor()
  expect(await field('Prefix (optional)').inputValue()).toBe('muster/')
  expect(await field('Secret access key (required)').inputValue()).toBe('')
  // Simulates that another person changes the configuration. An unedited form is updated, an edited form keeps its values.
  stored.s3Bucket = 'fleet-2'
  await refetchedConfig()
  await expect.poll(() => field('Bucket (required)').inputValue()).toBe('fleet-2')
  await field('Prefix (optional)').fill(' mine/ ')
  stored.s3Bucket = 'fleet-3'
  await refetchedConfig()
  expect(await field('Prefix (optional)').inputValue()).toBe(' mine/ ')
  expect(await field('Bucket (required)').inputValue()).toBe('fleet-2')
  await field('Secret access key (required)').fill(' spaces count ')
  await section.getByRole('button', { name: 'Save' }).click()
  await page.getByText('S3 configuration saved.').waitFor()
  expect(sent).toEqual({
    repositoryId,
    ...stored,
    s3Bucket: 'fleet-2',
    s3Prefix: 'mine/',
    s3SecretAccessKey: ' spaces count ',
  })
  expect(await field('Secret access key (required)').inputValue()).toBe('')
  await page.unrouteAll()
})

it('changes the visibility after confirmation, and the button names the new choice', async () => {
  await page.reload()
  const asked: string[] = []
  const answers = [false, true]
  page.on('dialog', dialog => {
    asked.push(dialog.message())
    void (answers.shift() ? dialog.accept() : dialog.dismiss())
  })
  const sent = await countingRequests(page, 'repositories_SetVisibility', async () => {
    await page.getByRole('button', { name: 'Make Public' }).click()
    await page.getByRole('button', { name: 'Make Public' }).click()
    await page.getByRole('button', { name: 'Make Private' }).waitFor()
  })
  expect(sent).toBe(1)
  expect(asked).toEqual(Array(2).fill('Are you sure you want to change the visibility?'))
  expect(await page.getByRole('alert').count()).toBe(0)
  await page
    .getByText(/^Removes the repository with its \d+ packages?, \d+ versions? and \d+ assets? for everyone;/)
    .waitFor()
  await expectGoodScreen(page, 'repository-settings-public')
  page.removeAllListeners('dialog')
})

it('deletes the repository after confirmation, and then shows Page not Found', async () => {
  const asked: string[] = []
  page.once('dialog', dialog => {
    asked.push(dialog.message())
    void dialog.dismiss()
  })
  await page.getByRole('button', { name: 'Delete Repository' }).click()
  await until('a question', () => asked.length === 1)
  // A query of the page that would reach the hub after the deletion. The page cancels it.
  const refused: string[] = []
  page.on('response', answer => answer.status() >= 400 && refused.push(answer.url()))
  const deleted = page.waitForResponse('**/invoke/repositories_Delete')
  const late: Promise<void>[] = []
  await page.route('**/invoke/repositories_GetDetails', route => {
    late.push(deleted.then(() => route.continue()).catch(() => {}))
  })
  await invoke(page, 'repositories_CreatePackage', { repositoryId, name: 'last-minute' })
  await until('the page sends a query', () => late.length > 0)
  page.once('dialog', dialog => {
    asked.push(dialog.message())
    void dialog.accept()
  })
  await page.getByRole('button', { name: 'Delete Repository' }).click()
  await until('a second question', () => asked.length === 2)
  expect(asked).toEqual(Array(2).fill('Are you sure you want to delete this repository?'))
  await page.waitForURL(`${stage.hub.url}/${organizationId}/repositories/`)
  await page.getByText('Repository fleet-images deleted.').waitFor()
  await page.getByRole('link', { name: 'Agent Öffentlich' }).waitFor()
  await Promise.all(late)
  await page.unroute('**/invoke/repositories_GetDetails')
  expect(refused).toEqual([])
  expect(await page.getByRole('link', { name: 'fleet-images' }).count()).toBe(0)
  await page.goto(`${stage.hub.url}/${organizationId}/repositories/${repositoryId}/packages`)
  await page.getByRole('heading', { level: 1, name: 'Page not Found' }).waitFor()
  await expectGoodScreen(page, 'repository-gone')
})

it('causes no error in any browser console', () => {
  expect(stage.faults).toEqual([])
})

function sentence() {
  return page.getByText('Packages can currently only be managed through the command-line tool.', {
    exact: true,
  })
}

/** The block that shows a command with a copy button. */
function command(text: string) {
  return page.locator('.code').filter({ hasText: text })
}

async function expectHeads(heads: string[]) {
  await expect.poll(() => page.getByRole('columnheader').allInnerTexts()).toEqual(heads)
}

function rowOf(text: string) {
  return page.getByRole('row').filter({ hasText: text })
}

/** Texts of the first column of the table. */
function names(): Promise<string[]> {
  return page.locator('tbody tr td:first-child').allInnerTexts()
}

async function openNewRepository() {
  await page.getByRole('button', { name: 'New Repository' }).click()
  return page.getByRole('dialog', { name: 'New Repository' })
}

async function fillS3() {
  // The hub refuses this configuration, because the endpoint is a loopback address that its operator has not allowed.
  await page.getByLabel('Endpoint (required)').fill('http://127.0.0.1:9')
  await page.getByLabel('Bucket (required)').fill('fleet')
  await page.getByLabel('Region (required)').fill('eu-north-1')
  await page.getByLabel('Access key id (required)').fill('AKIAEXAMPLE')
}

/** Changes the repository, so that the page refetches the S3 configuration, and waits for the answer. */
async function refetchedConfig() {
  const answered = page.waitForResponse('**/repositories_GetS3Config')
  await invoke(page, 'repositories_SetDisplayName', { repositoryId, displayName: 'fleet-images' })
  await answered
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Registers an asset for these bytes without uploading them, and returns its id. */
async function registered(bytes: Buffer): Promise<string> {
  const digest = `sha256_${sha256(bytes)}`
  return (await invoke(page, 'repositories_CreateAsset', { repositoryId, size: bytes.length, digest }))
    .assetId
}

/** Clicks the download button of a file and returns the bytes that the opened window downloads. */
async function downloaded(filename: string): Promise<Buffer> {
  let bytes: Buffer | undefined
  const issued = await countingRequests(page, 'repositories_IssueAssetDownloadUrl', async () => {
    // Listens as soon as the window opens, because a short download may end before any other event.
    const begun = new Promise<Download>(resolve => {
      page.context().once('page', window => window.once('download', resolve))
    })
    await page.getByRole('button', { name: `Download ${filename}` }).click()
    const download = await begun
    // The browser replaces characters that file systems do not allow.
    const name = filename.split('/').at(-1)!.replace(/[<>]/g, '_')
    expect(download.suggestedFilename()).toBe(name)
    bytes = await readFile(await download.path())
    await download.page().close()
  })
  expect(issued).toBe(1)
  return bytes!
}
