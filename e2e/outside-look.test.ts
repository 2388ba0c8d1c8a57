import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { ActionName, ActionOutput } from '@muster/actions'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { agentCommand, startAgent } from './agent-child.ts'
import { changeDatabase, firstToken, newFolder } from './hub-child.ts'
import {
  expectGoodScreen,
  failAction,
  ignoreTimersOf,
  invoke,
  openStage,
  organizationOf,
  type Stage,
  startSession,
} from './people.ts'

const resources = new AsyncDisposableStack()
let stage: Stage
/** Last arguments of every agent command. They identify the hub and the device. */
let agent: string[]
let page: Page
let organizationId: string
let projectUrl: string
let deviceId: string

beforeAll(async () => {
  const { path } = resources.use(await newFolder())
  const consoleConfig = join(path, 'console.json')
  await writeFile(consoleConfig, JSON.stringify({ banner: { text: '<b>Works</b> on <u>Sunday</u>' } }))
  stage = resources.use(
    await openStage({ MUSTER_INSTANCE_NAME: 'Halden cranes', MUSTER_CONFIG_JSON: consoleConfig }),
  )
  agent = ['--hub', stage.hub.url, '--token', firstToken(stage.hub), '--data', join(path, 'agent')]
  resources.use(startAgent(['run', ...agent]))
  page = await stage.signedInPage()
  organizationId = await organizationOf(page)
  await page.getByRole('link', { name: 'First project' }).click()
  await page.getByRole('row').getByRole('link', { name: 'View' }).click()
  await page.locator('.EntityHead-head').getByText('Connected', { exact: true }).waitFor()
  const [projectPath, id] = page.url().split('/devices/')
  projectUrl = projectPath!
  deviceId = id!
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

it('C1: shows unknown values of the hub unchanged, in a neutral colour', async () => {
  // The invitation adds an entry to the actions log and a job that sends the mail.
  await invoke(page, 'organizations_InviteMember', { organizationId, email: 'mira@test.example' })
  await agentCommand(['events', 'emit', '--severity', 'info', '"Wind"', ...agent])
  // Without the joined answer, the page sends the queries whose answers are rewritten.
  await failAction(page, 'devices_GetPage')
  await rewriteAnswer(page, 'devices_GetDetails', details => {
    for (const certificate of details.certificates) certificate.status = 'Suspended' as never
  })
  await rewriteAnswer(page, 'devices_QueryEvents', answer => {
    for (const event of answer.events) event.severity = 'Notice' as never
  })
  await page.goto(`${projectUrl}/devices/${deviceId}`)
  await neutralBadge('Suspended').waitFor()
  await page.locator('.EventsSection-event:not([data-tone])').getByText('Notice', { exact: true }).waitFor()

  await rewriteAnswer(page, 'projects_QueryAuditLog', answer => {
    for (const event of answer.events) {
      event.actor = { actor: 'Robot' } as never
      delete event.actorName
    }
  })
  await page.goto(`${projectUrl}/log`)
  await page.locator('td[data-k=Actor]').getByText('Robot', { exact: true }).first().waitFor()

  await rewriteAnswer(page, 'jobs_Query', answer => {
    for (const job of answer.jobs) job.status = 'Paused' as never
  })
  await page.goto(`${stage.hub.url}/admin/jobs`)
  await neutralBadge('Paused').first().waitFor()

  await rewriteAnswer(page, 'audit_QueryAuditLogActions', answer => {
    for (const action of answer.actions) action.status = 'Deferred' as never
  })
  await page.goto(`${stage.hub.url}/admin/actions`)
  await neutralBadge('Deferred').first().waitFor()
  await page.unrouteAll({ behavior: 'wait' })
})

it('S1: asks for the current password in the form when the sign-in is too old to set a new one', async () => {
  await changeDatabase(stage.hub, "update session set created_at = created_at - interval '20 minutes'")
  await page.goto(`${stage.hub.url}/settings/security`)
  const current = page.getByLabel('Current password (required)', { exact: true })
  const change = page.getByRole('button', { name: 'Change Password' })
  await page.getByLabel('New password (required)', { exact: true }).fill('a new password')
  await page.getByLabel('Confirm password (required)', { exact: true }).fill('a new password')
  expect(await current.count()).toBe(0)
  await change.click()
  await page
    .getByRole('alert')
    .getByText(/sign-in is too old/)
    .waitFor()
  await expectGoodScreen(page, 'security-current-password-for-new')
  await current.fill('wrong')
  await change.click()
  await page.getByRole('alert').getByText('The current password is wrong.', { exact: true }).waitFor()
  await current.fill(stage.admin.password)
  await change.click()
  await page.getByText('Password changed. Every other session and every token has ended.').waitFor()
  await current.waitFor({ state: 'detached' })
  stage.admin.password = 'a new password'
})

it('C18: names the product and the instance on the sign-in page and in titles', async () => {
  const outsider = await stage.newPage()
  const warned = outsider.waitForEvent('console', message => message.text().includes('banner'))
  await outsider.goto(`${stage.hub.url}/login`)
  const account = outsider.getByRole('region', { name: 'Account' })
  await account.getByText('Muster', { exact: true }).waitFor()
  await account.getByText('Halden cranes', { exact: true }).waitFor()
  await expect.poll(() => outsider.title()).toBe('Log in · Halden cranes · Muster')
  await expectGoodScreen(outsider, 'login')
  // Goal C16 (docs/goals.md): disallowed tags of the banner are removed with a warning, in the browser and in the hub's log.
  expect((await warned).text()).toContain('<u>')
  expect(stage.hub.logged('the console does not show this element of the banner')).toMatchObject([
    { tag: 'u' },
  ])
  // A person without a session sees no top bar at an unknown path.
  await outsider.goto(`${stage.hub.url}/nope`)
  await outsider.getByRole('heading', { level: 1, name: 'Page not Found' }).waitFor()
  expect(await outsider.getByRole('button', { name: /Account menu/ }).count()).toBe(0)
  // C32 (docs/decisions.md): but the logo, as on every page.
  await outsider.getByRole('link', { name: 'Muster, home' }).waitFor()
  await expectGoodScreen(outsider, 'not-found')
  await outsider.goto(`${stage.hub.url}/design-system`)
  await outsider.getByRole('heading', { level: 1 }).waitFor()
  await expectGoodScreen(outsider, 'design-system')
  await outsider.context().close()
})

it('C16: keeps the top bar at an unknown path, and names the organization only in titles of its pages', async () => {
  await page.goto(`${stage.hub.url}/nope`)
  await page.getByRole('heading', { level: 1, name: 'Page not Found' }).waitFor()
  await page.getByRole('button', { name: /Account menu/ }).waitFor()
  await expectGoodScreen(page, 'not-found-signed-in')
  const expectTitle = async (path: string, title: string) => {
    await page.goto(`${stage.hub.url}${path}`)
    // The name of the organization may load after the heading.
    await expect.poll(() => page.title()).toBe(title)
  }
  await expectTitle('/settings/profile', 'Profile · Settings · Halden cranes · Muster')
  await expectTitle('/user/invitations', 'Invitations · Halden cranes · Muster')
  const members = `/${organizationId}/settings/members`
  await expectTitle(members, 'Members · Settings · My organization · Halden cranes · Muster')
})

it('C32: prints a page without its navigation', async () => {
  await page.goto(`${projectUrl}/tokens`)
  await page.getByRole('heading', { level: 1, name: 'Tokens' }).waitFor()
  await page.emulateMedia({ media: 'print' })
  expect(await page.getByRole('banner').isVisible()).toBe(false)
  expect(await page.getByRole('navigation', { name: 'Project' }).isVisible()).toBe(false)
  const { x = -1 } = (await page.getByRole('main').boundingBox()) ?? {}
  expect(x).toBe(0)
  await page.emulateMedia({ media: null })
})

it('C16, C35: marks the selected segment and the current entries, and keeps avatars legible, in forced-colors mode', async () => {
  await page.emulateMedia({ forcedColors: 'active' })
  await page.goto(`${projectUrl}/devices`)
  await page.getByRole('button', { name: 'All', exact: true }).waitFor()
  const outlineOf = (selector: string) =>
    page.evaluate(`getComputedStyle(document.querySelector('${selector}')).outlineStyle`)
  for (const selector of [
    '.segments [aria-pressed="true"]',
    'header nav [aria-current]',
    'aside nav [aria-current]',
  ])
    expect({ selector, outline: await outlineOf(selector) }).toEqual({ selector, outline: 'solid' })
  expect(await outlineOf('.segments [aria-pressed="false"]')).toBe('none')
  // C35: letters have the system colour that belongs to their background.
  const letters = await page.evaluate<string[]>(`(() => {
    const sample = document.body.appendChild(document.createElement('i'))
    sample.style.cssText = 'forced-color-adjust: none; color: ButtonFace; background: ButtonText'
    const looks = [sample, ...document.querySelectorAll('.Avatar-avatar')].map(element => {
      const { color, backgroundColor } = getComputedStyle(element)
      return color + ' on ' + backgroundColor
    })
    sample.remove()
    return looks
  })()`)
  expect(letters.length).toBeGreaterThan(1)
  expect(new Set(letters).size).toBe(1)
  await page.emulateMedia({ forcedColors: null })
})

it('C16: shows the tag that matches a filter, whole digests if they fit, and ids on two lines', async () => {
  const create = { organizationId, name: 'images' }
  const made = await invoke(page, 'repositories_Create', create)
  if (made.result !== 'Created') throw new Error(made.result)
  const { repositoryId } = made
  const kept = await invoke(page, 'repositories_CreatePackage', { repositoryId, name: 'crane' })
  if (kept.result !== 'Created') throw new Error(kept.result)
  const { packageId } = kept
  const tags = ['a', 'b', 'c', 'd', 'e', 'zulu'].map(tag => ({ tag }))
  await invoke(page, 'repositories_CreateVersion', { packageId, tags })
  const digest = `sha256_${'5'.repeat(64)}`
  await invoke(page, 'repositories_CreateAsset', { repositoryId, size: 5, digest })
  const base = `${stage.hub.url}/${organizationId}/repositories/${repositoryId}`
  await page.goto(`${base}/packages/${packageId}?q=ZUL`)
  await page.getByRole('listitem').getByText('zulu', { exact: true }).waitFor()
  await expectGoodScreen(page, 'versions-filtered')

  await page.goto(`${base}/assets`)
  const cut = page.getByRole('row').getByText(digest, { exact: true })
  await cut.waitFor()
  expect(await cut.evaluate(element => element.scrollWidth - element.clientWidth)).toBe(0)
  await expectGoodScreen(page, 'assets-digest')

  // The sidebar is narrowest at this width.
  await page.setViewportSize({ width: 1000, height: 800 })
  const id = page.locator('aside .Id-text')
  expect(await id.innerText()).toBe(repositoryId)
  const lines = await page.evaluate<number[]>(`
    [...document.querySelector('aside .Id-text').childNodes].flatMap(node => {
      const range = document.createRange()
      range.selectNodeContents(node)
      return [...range.getClientRects()].map(({ width }) => width).filter(Boolean)
    })`)
  expect(lines).toHaveLength(2)
  expect(Math.min(...lines)).toBeGreaterThan(Math.max(...lines) * 0.9)
  await page.setViewportSize({ width: 1440, height: 1000 })
})

it('C16: shows no pulse before there is a token, and a hint about what the filter matches', async () => {
  const { projectId } = await invoke(page, 'projects_Create', { organizationId, name: 'Empty' })
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/devices`)
  await page.getByText('Your device appears here', { exact: true }).waitFor()
  const pulse = page.getByRole('complementary', { name: 'Waiting for the device' }).locator('.live')
  expect(await pulse.count()).toBe(0)
  await page.getByRole('button', { name: 'Create Token' }).click()
  await pulse.waitFor()
  await page.goto(`${projectUrl}/devices`)
  await page.getByPlaceholder('Filter by name, id or address', { exact: true }).waitFor()
})

it('C17: sends each query once on a fresh load, even if the live stream opens late', async () => {
  const asked: string[] = []
  const { promise: isOpen, resolve: opened } = Promise.withResolvers<void>()
  const fresh = await stage.newPage()
  await startSession(fresh, stage)
  // Pages wait at most 1 s for the stream, which a busy machine can exceed.
  await ignoreTimersOf(fresh, 1_000)
  await fresh.route('**/api/v1/live', async route => {
    await setTimeout(300)
    await route.continue()
  })
  fresh.on('response', response => response.url().endsWith('/live') && opened())
  fresh.on('request', request => {
    const [, action] = /\/invoke\/(\w+)$/.exec(request.url()) ?? []
    if (action) asked.push(`${action} ${request.postData()}`)
  })
  await fresh.goto(`${projectUrl}/tokens`)
  await fresh.getByRole('row').nth(1).waitFor()
  await isOpen
  // Waits longer than the delay after which the console would repeat queries that were sent too early.
  await setTimeout(1_000)
  expect(asked.length).toBeGreaterThan(3)
  expect(asked.toSorted()).toEqual([...new Set(asked)].toSorted())
  await fresh.unrouteAll({ behavior: 'wait' })
  await fresh.context().close()
})

it('D12: eight windows without locks, as on plain HTTP, share one live stream', async () => {
  const windows: Page[] = []
  const streams = new Map<unknown, Page>()
  const context = page.context()
  const open = async () => {
    const opened = await context.newPage()
    await opened.addInitScript(`Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })`)
    opened.on('request', request => request.url().endsWith('/api/v1/live') && streams.set(request, opened))
    opened.on('requestfailed', request => streams.delete(request))
    opened.on('requestfinished', request => streams.delete(request))
    await opened.goto(`${projectUrl}/tokens`)
    await opened.getByRole('row').nth(1).waitFor()
    windows.push(opened)
  }
  for (let n = 0; n < 8; n++) await open()
  await expect.poll(() => streams.size).toBe(1)
  const [holder] = streams.values()
  await invoke(page, 'projects_CreateDeploymentToken', {
    projectId: projectUrl.split('/').at(-1)!,
    name: 'Shared',
  })
  for (const opened of windows) await opened.getByText('Shared', { exact: true }).first().waitFor()
  // Another window takes over when the one with the stream is closed.
  await holder!.close()
  streams.clear()
  await expect.poll(() => streams.size, { timeout: 15_000 }).toBe(1)
  for (const opened of windows) await opened.close()
})

it('C11: shows a device without a name as "unnamed" with its host name everywhere', async () => {
  const { hostname = '' } = await invoke(page, 'devices_GetDetails', { deviceId })
  expect(hostname).not.toBe('')
  const text = `unnamed (${hostname})`
  await page.goto(`${projectUrl}/devices`)
  const fleet = page.getByRole('region', { name: 'Fleet' })
  await fleet.getByRole('link', { name: `unnamed ${hostname}`, exact: true }).waitFor()
  await expectGoodScreen(page, 'devices-unnamed')
  await fleet.getByRole('link').click()
  await page.getByRole('heading', { level: 1, name: `unnamed ${hostname}`, exact: true }).waitFor()
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByText(text, { exact: true }).waitFor()
  await expect.poll(() => page.title()).toMatch(new RegExp(`^unnamed \\(${hostname}\\) · First project`))
  await expectGoodScreen(page, 'device-unnamed')
  await page.getByRole('button', { name: 'Delete Device' }).click()
  await page.getByText(/^Deleting in \d+ s\.$/).waitFor()
  await page.getByText(text, { exact: true }).waitFor()
})

it('C28: says in a bar that keeps its place that the hub is lost, and that it is connected again', async () => {
  await page.route('**/api/v1/live', route => route.abort())
  await page.reload()
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.route('**/api/config.json', route => route.abort())
  await page.getByText(/^Connection to the hub lost at \d\d:\d\d:\d\d\.$/).waitFor()
  // The data on screen are not said to be up to date.
  await page.getByText(/^Last update \d+ s ago$/).waitFor()
  await expectGoodScreen(page, 'lost')
  const bar = page.getByRole('region', { name: 'Connection to the hub' })
  const place = await bar.boundingBox()
  // The console also retries by itself every few seconds. If a retry succeeded, the button would be gone, so it is pressed before.
  await Promise.all([
    page.waitForRequest('**/api/v1/live'),
    page.getByRole('button', { name: 'Try now' }).dispatchEvent('click'),
  ])
  await Promise.all([
    page
      .getByText(/^Connected again\. Updated \d\d:\d\d:\d\d\.$/)
      .waitFor()
      .then(async () => expect(await bar.boundingBox()).toEqual(place)),
    page.unroute('**/api/v1/live'),
    page.unroute('**/api/config.json'),
  ])
})

/** Changes the hub's answers to an action before the page reads them. */
async function rewriteAnswer<N extends ActionName>(
  on: Page,
  name: N,
  change: (answer: ActionOutput<N>) => void,
) {
  await on.route(`**/invoke/${name}`, async route => {
    const response = await route.fetch()
    const answer = (await response.json()) as ActionOutput<N>
    change(answer)
    await route.fulfill({ response, json: answer })
  })
}

/** A badge without a class for a colour. */
const neutralBadge = (word: string) => page.locator('[class="badge"]').getByText(word, { exact: true })
