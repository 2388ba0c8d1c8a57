import { until } from '@muster/testkit/until'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { databaseOf } from './hub-child.ts'
import { expectGoodScreen, failAction, invoke, openStage, organizationOf, type Stage } from './people.ts'

/** A name of the maximum length without a break opportunity. */
const LONG = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbea'
const PACKAGES = 250

let stage: Stage
let page: Page
let organizationId: string
let projectId: string
let repositoryId: string
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
  page = await stage.signedInPage()
  organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  projectId = projects[0]!.projectId
  const made = await invoke(page, 'repositories_Create', { organizationId, name: 'fleet-images' })
  if (made.result !== 'Created') throw new Error(made.result)
  repositoryId = made.repositoryId
  await invoke(page, 'repositories_Create', { organizationId, name: LONG.slice(0, 60) })
  await invoke(page, 'projects_Create', { organizationId, name: LONG })
  await using database = await databaseOf(stage.hub.dataDir)
  await database.query(
    `insert into package (package_id, repository_id, name)
     select 'pkg_' || left(translate(md5(i::text), '0', 'z'), 22), $1, 'package-' || lpad(i::text, 3, '0')
       from generate_series(1, ${PACKAGES}) i`,
    [repositoryId],
  )
  await database.query(
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
     select 'd_' || id, $1, 'd_pk_' || id, sha256('x') from (select repeat('A', 22) as id) as made`,
    [projectId],
  )
})

beforeEach(async () => {
  page = await stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

it('keeps the list and the filter box in place while a filter without matches is removed', async () => {
  const lists = [
    [`repositories/${repositoryId}/packages`, 'repositories_QueryPackages', 'Filter packages'],
    [`repositories/${repositoryId}/assets`, 'repositories_QueryAssets', 'Filter assets'],
    [`projects/${projectId}/log`, 'projects_QueryAuditLog', 'Find in the log'],
    [`projects`, 'organizations_QueryProjects', 'Filter projects'],
    [`repositories/`, 'organizations_QueryRepositories', 'Filter repositories'],
  ] as const
  for (const [path, action, label] of lists) {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    let isHeld = false
    await page.route(`**/${action}`, async route => {
      const { filter } = route.request().postDataJSON() as { filter?: object }
      const isFiltered = Object.keys(filter ?? {}).length > 0
      if (isHeld && !isFiltered) await held
      // The repository has no assets, and for an empty unfiltered list the page has no filter box. So the unfiltered list is
      // answered with one asset.
      await (isFiltered || path !== `repositories/${repositoryId}/assets`
        ? route.continue()
        : route.fulfill({ json: { assets: [asset()], total: 1 } }))
    })
    await page.goto(`${stage.hub.url}/${organizationId}/${path}`)
    const box = page.getByLabel(label)
    await box.fill('nothing like it')
    await page.getByText(/^No \w+ match this filter\./).waitFor()
    isHeld = true
    // Without a reload, the console would show the cached unfiltered list immediately.
    await page.reload()
    await page.getByText(/^No \w+ match this filter\./).waitFor()
    await box.focus()
    await page.keyboard.press('Escape')
    await page.waitForURL(url => url.search === '')
    await page.waitForTimeout(200)
    await page.getByText(/^No \w+ match this filter\./).waitFor()
    const focused = await page.evaluate('document.activeElement.ariaLabel')
    expect({ path, focused }).toEqual({ path, focused: label })
    release()
    await page.getByText(/^No \w+ match this filter\./).waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe(label)
    await page.unrouteAll({ behavior: 'wait' })
  }
})

it('keeps the filter usable when its list cannot be loaded', async () => {
  const lists = [
    [`repositories/${repositoryId}/packages`, 'repositories_QueryPackages', 'Filter packages'],
    [`projects`, 'organizations_QueryProjects', 'Filter projects'],
    [`projects/${projectId}/devices`, 'projects_QueryDevices', 'Filter devices'],
  ] as const
  for (const [path, action, label] of lists) {
    await page.route(`**/${action}`, async route => {
      const { filter } = route.request().postDataJSON() as { filter?: object }
      await (filter
        ? route.fulfill({ status: 500, json: { kind: 'Internal', message: 'The index is on fire.' } })
        : route.continue())
    })
    const address = `${stage.hub.url}/${organizationId}/${path}`
    await page.goto(address)
    const box = page.getByLabel(label)
    await box.fill('first')
    const alert = page.getByRole('alert').filter({ hasText: 'The index is on fire.' })
    await alert.waitFor()
    expect(await page.getByText('Something went wrong!').count()).toBe(0)
    expect(await box.inputValue()).toBe('first')
    await expectGoodScreen(page, `filter-failed-${label.split(' ').at(-1)}`)
    // After a reload with a filter in the URL, the page has no earlier list to show. It shows no skeleton rows either.
    await page.reload()
    await alert.waitFor()
    expect(await page.getByRole('table').locator('.skeleton').count()).toBe(0)
    await page.unrouteAll({ behavior: 'wait' })
    await alert.getByRole('button', { name: 'Try again' }).click()
    await alert.waitFor({ state: 'detached' })
    expect(await box.inputValue()).toBe('first')
    // Without a filter, a failure shows the error page of docs/specification.md instead of the list.
    const mend = await failAction(page, action, 'The index is on fire.')
    await page.goto(address)
    await page.getByRole('heading', { level: 1, name: 'Something went wrong!' }).waitFor()
    await mend()
    await page.getByRole('button', { name: 'Try again' }).click()
    await box.waitFor()
  }
})

it('does not show the projects of the previous organization after switching', async () => {
  await invoke(page, 'organizations_Create', { name: 'Empty harbor' })
  await page.goto(`${stage.hub.url}/${organizationId}/projects`)
  await page.getByRole('link', { name: 'First project' }).waitFor()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/organizations_QueryProjects', async route => {
    await held
    await route.continue()
  })
  await page.getByRole('button', { name: /^Organization / }).click()
  await page.getByRole('menuitem', { name: 'Empty harbor' }).click()
  await page.waitForURL(url => !url.pathname.includes(organizationId))
  await page.getByRole('button', { name: 'Organization Empty harbor' }).waitFor()
  await page.getByRole('link', { name: 'First project' }).waitFor({ state: 'detached' })
  release()
  await page.getByText('Create your first project').waitFor()
  await page.unrouteAll({ behavior: 'wait' })
})

it('renders only rows near the viewport above 200 rows, and keeps the focus at the end of a list', async () => {
  await page.goto(`${stage.hub.url}/${organizationId}/repositories/${repositoryId}/packages`)
  const more = page.getByRole('button', { name: 'Load more' })
  await more.click()
  await page.getByText('200 of 250 packages').waitFor()
  const rows = page.getByRole('row').filter({ hasText: 'package-' })
  expect(await rows.count()).toBe(200)
  await more.focus()
  await page.keyboard.press('Enter')
  await more.waitFor({ state: 'detached' })
  await expect.poll(() => rows.count()).toBeLessThan(80)
  expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe('251')
  // The focused button `Load more` has disappeared, so the focus moves to a row.
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('TR')
  const rowOf = (name: string) => page.getByRole('row', { name })
  await expect
    .poll(async () => {
      await page.mouse.wheel(0, 20_000)
      return rowOf('package-250').isVisible()
    })
    .toBe(true)
  expect(await rowOf('package-250').getAttribute('aria-rowindex')).toBe('251')
  await expectGoodScreen(page, 'packages-many')
  // A focused row stays rendered, however far it is scrolled away.
  await page.evaluate('scrollTo(0, 1e6)')
  await rowOf('package-250').getByRole('link').first().focus()
  await page.evaluate('scrollTo(0, 0)')
  await rowOf('package-001').waitFor()
  expect(await page.evaluate('document.activeElement.textContent')).toBe('package-250')
})

it('renders only entries of a long log near the viewport, and keeps them expanded', async () => {
  await page.route('**/projects_QueryAuditLog', route => {
    const { cursor = '0' } = route.request().postDataJSON() as { cursor?: string }
    const first = Number(cursor)
    const events = Array.from({ length: 100 }, (_, n) => ({
      eventId: `audit_ev_20261101-0000-${String(first + n).padStart(8, 'A')}`,
      createdAt: new Date(Date.UTC(2026, 10, 20) - (first + n) * 3_600_000).toISOString(),
      event: 'devices_Renamed',
      actor: { actor: 'System' },
      data: { number: first + n },
    }))
    const json = { events, total: 400, ...(first < 300 && { nextCursor: String(first + 100) }) }
    return route.fulfill({ json })
  })
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/log`)
  const more = page.getByRole('button', { name: 'Load more' })
  const fold = page.getByRole('button', { name: /^Details of .*audit_ev_20261101-0000-AAAAAAA2/ })
  await fold.click()
  const detail = page.locator('tr[data-detail]')
  await detail.waitFor()
  for (const shown of [200, 300]) {
    await more.click()
    await page.getByText(`${shown} of 400 entries`).waitFor()
  }
  await more.click()
  await more.waitFor({ state: 'detached' })
  await expect.poll(() => page.locator('tbody tr').count()).toBeLessThan(80)
  await page.evaluate('scrollTo(0, 1e6)')
  await page.getByRole('button', { name: /^Details of .*audit_ev_20261101-0000-AAAAA399/ }).waitFor()
  expect(await detail.count()).toBe(0)
  await page.evaluate('scrollTo(0, 0)')
  await detail.waitFor()
  // The rendered rows cover the viewport without gaps.
  for (const [width, y] of [
    [1440, 6_000],
    [390, 12_000],
  ]) {
    await page.setViewportSize({ width: width!, height: 900 })
    await page.evaluate(`scrollTo(0, ${y})`)
    const covered = () =>
      page.evaluate(`[100, 300, 500, 700].map(y => {
        const { left, width } = document.querySelector('table').getBoundingClientRect()
        return document.elementFromPoint(left + width / 2, y)?.closest('tr')?.ariaHidden ?? 'row'
      })`)
    const expected = { width, covered: ['row', 'row', 'row', 'row'] }
    await expect.poll(async () => ({ width, covered: await covered() })).toEqual(expected)
  }
  await page.setViewportSize({ width: 1440, height: 1000 })
  await page.unrouteAll({ behavior: 'wait' })
})

it('shows a package only below its own repository', async () => {
  const { packages } = await invoke(page, 'repositories_QueryPackages', { repositoryId, limit: 1 })
  const { packageId } = packages[0]!
  const { versionId } = await invoke(page, 'repositories_CreateVersion', { packageId, tags: [] })
  const { repositories } = await invoke(page, 'organizations_QueryRepositories', { organizationId })
  const other = repositories.find(one => one.repositoryId !== repositoryId)!.repositoryId
  for (const [repository, title] of [
    [repositoryId, 'package-001'],
    [other, 'Page not Found'],
  ]) {
    const address = `${stage.hub.url}/${organizationId}/repositories/${repository}/packages/${packageId}`
    await page.goto(address)
    await page.getByRole('heading', { level: 1, name: title! }).waitFor()
    await page.goto(`${address}/versions/${versionId}`)
    await page
      .getByRole('heading', { level: 1, name: title === 'package-001' ? 'Version' : title! })
      .waitFor()
  }
})

it('C6: shows Page not Found, with the reason, for an absent entity', async () => {
  const { packages } = await invoke(page, 'repositories_QueryPackages', { repositoryId, limit: 1 })
  const absent = 'x'.repeat(22)
  const { packageId } = packages[0]!
  const project = `projects/p_${absent}`
  const repository = `repositories/${repositoryId}`
  for (const path of [
    project,
    `${project}/tokens`,
    `${project}/devices/d_${absent}`,
    'projects/nonsense',
    `projects/${projectId}/devices/d_${absent}`,
    `projects/p_${absent}/devices/d_${'A'.repeat(22)}`,
    `repositories/repo_${absent}`,
    `repo_${absent}`,
    `${repository}/packages/pkg_${absent}`,
    `${repository}/packages/pkg_${absent}/versions/pkg_v_${absent}`,
    `${repository}/packages/${packageId}/versions/pkg_v_${absent}`,
    `${repository}/packages/${packageId}/versions/nonsense`,
  ]) {
    await page.goto(`${stage.hub.url}/${organizationId}/${path}`)
    await page.getByRole('heading', { level: 1, name: 'Page not Found' }).waitFor()
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
    // A path with two absent entities shows this page for the first answer, and again for the second one, with the error hidden.
    await until('the error is shown', async () => {
      const show = page.getByRole('button', { name: 'Show Error' })
      if (await show.isVisible()) await show.click()
      return page.getByText(/^ActionError: /).isVisible()
    })
    await page.getByRole('button', { name: 'Hide Error' }).waitFor()
  }
  await expectGoodScreen(page, 'version-absent')
  // A device that is absent was probably deleted.
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/devices/d_${absent}`)
  await page.getByRole('link', { name: 'Audit Log' }).nth(1).waitFor()
  await expectGoodScreen(page, 'device-absent')
  await page.getByRole('link', { name: 'Back to Devices' }).click()
  await page.waitForURL(`${stage.hub.url}/${organizationId}/projects/${projectId}/devices`)
  await page.goto(`${stage.hub.url}/${organizationId}/${repository}/packages/pkg_${absent}`)
  await page.getByRole('link', { name: 'Go to the home page' }).click()
  await page.waitForURL(`${stage.hub.url}/${organizationId}/projects`)
})

it('C28: shows Page not Found for an unknown organization', async () => {
  const unknown = `org_${'x'.repeat(22)}`
  for (const path of [
    '',
    '/projects',
    '/repositories',
    '/settings/members',
    '/settings/log',
    '/settings/general',
  ]) {
    await page.goto(`${stage.hub.url}/${unknown}${path}`)
    await page.getByRole('heading', { level: 1, name: 'Page not Found' }).waitFor()
  }
  expect(await page.getByText('Something went wrong!').count()).toBe(0)
  await page.goto(`${stage.hub.url}/${organizationId}/projects`)
})

it('C6: shows a failure of the hub as an error, with a button to try again', async () => {
  for (const [path, action] of [
    [`projects/${projectId}/devices`, 'projects_GetDetails'],
    [`repositories/${repositoryId}/packages`, 'repositories_GetDetails'],
  ] as const) {
    const mend = await failAction(page, action)
    await page.goto(`${stage.hub.url}/${organizationId}/${path}`)
    await page.getByRole('heading', { level: 1, name: 'Something went wrong!' }).waitFor()
    await mend()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { level: 1, name: /^(Devices|Packages)$/ }).waitFor()
  }
})

it('C5: corrects the organization in the URL of a project and a repository', async () => {
  const made = await invoke(page, 'organizations_Create', { name: 'Elsewhere harbor' })
  const elsewhere = made.organizationId
  const device = `projects/${projectId}/devices/d_${'A'.repeat(22)}`
  const current = page.getByRole('button', { name: /^Organization / })
  await page.goto(`${stage.hub.url}/${organizationId}/projects`)
  await page.getByRole('link', { name: 'First project' }).waitFor()
  await expect.poll(() => current.innerText()).toContain('My organization')
  const own = await current.innerText()
  for (const [path, heading] of [
    [`projects/${projectId}/devices?status=connected&q=none`, 'Devices'],
    [`${device}#properties`, 'unnamed'],
    [`repositories/${repositoryId}/packages?q=package-00`, 'Packages'],
  ] as const) {
    await page.goto(`${stage.hub.url}/${elsewhere}/projects`)
    await expect.poll(() => current.innerText()).toContain('Elsewhere harbor')
    await page.goto(`${stage.hub.url}/${elsewhere}/${path}`)
    await page.waitForURL(`${stage.hub.url}/${organizationId}/${path}`)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    await expect.poll(() => current.innerText()).toBe(own)
    // The URL with the wrong organization is not in the browser's history.
    await page.goBack()
    await page.waitForURL(`${stage.hub.url}/${elsewhere}/projects`)
  }
})

it('works without the banner when its code cannot be loaded', async () => {
  await page.route('**/api/config.json', route => route.fulfill({ json: { banner: { text: 'Soon away' } } }))
  await page.route('**/assets/BannerText*', route => route.abort())
  await page.goto(`${stage.hub.url}/${organizationId}/projects`)
  await page.getByRole('link', { name: 'First project' }).waitFor()
  await page.unrouteAll({ behavior: 'wait' })
})

it('shows an error when code cannot be loaded while the hub is unreachable, and recovers later', async () => {
  await page.goto(`${stage.hub.url}/settings/profile`)
  await page.getByRole('heading', { level: 1, name: 'Profile' }).waitFor()
  await page.context().setOffline(true)
  await page.keyboard.press('Control+k')
  const alert = page.getByRole('alert').filter({ hasText: 'Could not open the search' })
  await alert.getByText('The hub could not be reached.').waitFor()
  // Chromium caches the failed import, so the console later reloads the page to import again. The reload would close the
  // notice, so the test dismisses the notice before.
  await alert.getByRole('button', { name: 'Dismiss' }).click()
  await page.getByRole('heading', { level: 1, name: 'Profile' }).waitFor()
  await page.getByRole('link', { name: 'Security' }).click()
  await page.getByRole('heading', { level: 1, name: 'Something went wrong!' }).waitFor()
  // The navigation around the failed page still works.
  await page.getByRole('link', { name: 'Profile' }).waitFor()
  await page.getByRole('button', { name: 'Show Error' }).click()
  await page.getByText('ActionError: The hub could not be reached.').waitFor()
  await page.context().setOffline(false)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { level: 1, name: 'Security' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Jump to' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Jump to' }).waitFor({ state: 'detached' })
})

it('reloads the whole page when the hub has a newer version of its files', async () => {
  await page.goto(`${stage.hub.url}/settings/profile`)
  await page.getByRole('heading', { level: 1, name: 'Profile' }).waitFor()
  let isAnew = false
  page.on('request', request => {
    isAnew ||= request.isNavigationRequest()
  })
  await page.route('**/assets/SessionsPage*', route =>
    isAnew ? route.continue() : route.fulfill({ status: 404, body: '' }),
  )
  await page.getByRole('link', { name: 'Sessions' }).click()
  await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor()
  expect(isAnew).toBe(true)
  await page.unrouteAll({ behavior: 'wait' })
})

it('opens a whole menu above its button when there is no room below', async () => {
  await page.setViewportSize({ width: 1440, height: 600 })
  await page.goto(`${stage.hub.url}/admin/users`)
  const button = page.getByRole('button', { name: /^More actions/ }).first()
  const { y } = (await button.boundingBox())!
  // Leaves room for only a part of the menu below the button.
  await page.setViewportSize({ width: 1440, height: Math.round(y) + 70 })
  await button.click()
  const menu = (await page.locator('[role="menu"]').boundingBox())!
  const last = (await page.getByRole('menuitem').last().boundingBox())!
  expect(menu.y + menu.height).toBeLessThanOrEqual(y)
  expect(last.y + last.height).toBeLessThanOrEqual(menu.y + menu.height)
  await page.keyboard.press('Escape')
  await page.setViewportSize({ width: 1440, height: 1000 })
})

it('moves the focus to the heading when the button that opened a dialog has disappeared', async () => {
  const { projectId: newProject } = await invoke(page, 'projects_Create', { organizationId, name: 'Quay' })
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${newProject}/tokens`)
  await page.getByText('Create a token to connect devices').waitFor()
  await expectGoodScreen(page, 'tokens-none')
  await page.getByRole('button', { name: 'New Token' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').waitFor()
  await expectGoodScreen(page, 'new-token')
  await dialog.getByLabel('Name').fill('First')
  await dialog.getByRole('button', { name: 'Create Token' }).click()
  await page.getByRole('row', { name: 'First', includeHidden: true }).waitFor({ state: 'attached' })
  await expectGoodScreen(page, 'token-secret')
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'detached' })
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Tokens')
})

it('shows in the header that a part of a page could not be refreshed', async () => {
  const pages = [
    ['admin/dashboard', 'cluster_GetDetails', 'Dashboard'],
    [`${organizationId}/projects`, 'projects_GetSummary', 'Projects'],
  ] as const
  for (const [path, action, title] of pages) {
    await page.goto(`${stage.hub.url}/${path}`)
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
    await page.getByText(/^Updated /).waitFor()
    await page.locator('.skeleton').first().waitFor({ state: 'detached' })
    const mend = await failAction(page, action)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText(/^Last update failed/).waitFor()
    await mend()
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText(/^Updated /).waitFor()
  }
})

it('fits long names without break opportunities at any width', async () => {
  const { users } = await invoke(page, 'users_Query', {})
  await invoke(page, 'users_CreateToken', { userId: users[0]!.userId, name: 'T'.repeat(128) })
  const { userId } = await invoke(page, 'users_Create', {
    email: `${'x'.repeat(180)}@${'y'.repeat(60)}.example`,
    displayName: 'N'.repeat(128),
  }).then(made => {
    if (made.result !== 'Created') throw new Error(made.result)
    return made
  })
  await invoke(page, 'organizations_AddMember', { organizationId, userId })
  const created = await invoke(page, 'repositories_CreatePackage', { repositoryId, name: 'long-names' })
  if (created.result !== 'Created') throw new Error(created.result)
  const { packageId } = created
  const tags = ['stable', ...Array.from({ length: 5 }, (_, n) => `${n}${'t'.repeat(127)}`)]
  const { versionId } = await invoke(page, 'repositories_CreateVersion', {
    packageId,
    tags: tags.map(tag => ({ tag, locked: true })),
  })
  const file = { repositoryId, size: 1, digest: `sha256_${'ab'.repeat(32)}` }
  const { assetId } = await invoke(page, 'repositories_CreateAsset', file)
  await invoke(page, 'repositories_AddVersionAsset', { versionId, assetId, filename: 'x'.repeat(250) })
  const addresses = [
    `${organizationId}/projects`,
    `${organizationId}/repositories/`,
    `${organizationId}/projects/${projectId}/tokens`,
    'settings/security',
    'settings/sessions',
    `${organizationId}/settings/members`,
    `${organizationId}/repositories/${repositoryId}/packages/${packageId}`,
    `${organizationId}/repositories/${repositoryId}/packages/${packageId}/versions/${versionId}`,
    'admin/users',
    'admin/log',
  ]
  for (const path of addresses) {
    await page.goto(`${stage.hub.url}/${path}`)
    await page.locator('main tbody tr:has(td + td) , main [data-card] .touch-area').first().waitFor()
    for (const width of [1440, 1181, 1024, 900, 821, 390, 320]) {
      await page.setViewportSize({ width, height: 900 })
      // The console may render the layout of a new width some frames after the resize.
      const measured = async () => ({
        path,
        width,
        overflow: await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
        cut: await page.evaluate(CUT),
      })
      await expect.poll(measured).toEqual({ path, width, overflow: 0, cut: [] })
    }
    await page.setViewportSize({ width: 1440, height: 1000 })
  }
  await page.setViewportSize({ width: 390, height: 844 })
  const address = `${'x'.repeat(60)}@${'y'.repeat(60)}.example`
  await page.goto(`${stage.hub.url}/${organizationId}/settings/members`)
  await page.getByRole('button', { name: 'Invite User' }).click()
  await page.getByRole('dialog').getByLabel('Email').fill(address)
  await page.route('**/organizations_InviteMember', route =>
    route.fulfill({ status: 409, json: { kind: 'Invalid', message: `${address} is already a member.` } }),
  )
  // A busy hub disables the button until it has answered. A click in Playwright waits until the button is enabled, but a pressed Enter
  // would be lost.
  await page.getByRole('dialog').getByRole('button', { name: 'Invite User' }).click()
  await page.getByRole('dialog').getByRole('alert').waitFor()
  expect(await page.getByRole('dialog').evaluate(dialog => dialog.scrollWidth - dialog.clientWidth)).toBe(0)
  await page.unrouteAll({ behavior: 'wait' })

  page.once('dialog', question => void question.accept())
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  const long = projects.find(({ name }) => name === LONG)!
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${long.projectId}/settings`)
  await page.getByRole('button', { name: 'Delete Project' }).click()
  const toast = page.getByRole('region', { name: 'Notifications' }).locator('> *')
  await toast.waitFor()
  const { x, width } = (await toast.boundingBox())!
  expect(x + width).toBeLessThanOrEqual(390)
  await page.setViewportSize({ width: 1440, height: 1000 })
  expect(stage.faults).toEqual([])
})

/** Script that returns the texts of elements that overflow their card, or on a phone their row. */
const CUT = `[...document.querySelectorAll('[data-card], tbody tr')].flatMap(box =>
  [...box.querySelectorAll('a, .badge, .Id-text, .muted')]
    .filter(part => innerWidth < 821 || box.matches('[data-card]'))
    .filter(part => part.getBoundingClientRect().right > box.getBoundingClientRect().right + 0.5)
    .map(part => part.textContent))`

function asset() {
  return {
    assetId: `repo_a_${'A'.repeat(22)}`,
    size: 1,
    digest: `sha256_${'ab'.repeat(32)}`,
    status: 'Available',
    createdAt: '2026-11-01T00:00:00.000Z',
    metadata: {},
  }
}
