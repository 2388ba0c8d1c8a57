import { setTimeout as pause } from 'node:timers/promises'
import { CONSOLE_PATHS } from '@muster/actions'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { type BenchHub, signIn } from './hub-process.ts'
import { seedDeviceHistory, seedDevices, seedSoftware } from './list-seed.ts'
import { report, reportGoal } from './yardsticks.ts'

/** Devices of the first project. More than 200, so that the list has the summary of a large project. */
const DEVICES = 700
/** Devices of the second project. At most 200, so that its list has the summary of a small project. */
const FEW_DEVICES = 46
/** Name of the second project. It is wider than a phone. */
const LONG_NAME = 'Straddle carriers and quay cranes of the container terminal in Halden'
const VERSIONS = 30
const LIMIT = 0.02
const LOOKS = [1440, 390].flatMap(width => [false, true].map(slow => ({ width, slow })))
/** "Fast 3G" of Chromium's developer tools. */
export const FAST_3G = {
  offline: false,
  latency: 150,
  downloadThroughput: (1.6 * 1024 * 1024) / 8,
  uploadThroughput: (750 * 1024) / 8,
}
/** Time without a request, in milliseconds, after which a page has loaded. Longer than the latency of the slow network. */
const QUIET_MS = 900
/** Time, in milliseconds, after which a request no longer delays the end of a measurement. */
const LONGEST_REQUEST_MS = 5_000
/** Longest time, in milliseconds, for which a page is measured. */
const LONGEST_MS = 30_000
/** Pages that load at the same time. */
const PARALLEL = 3
/** Paths that only lead to another page of the list. */
const REDIRECTS = new Set([
  '/',
  '/settings',
  '/admin',
  '/org_{$organization}',
  '/org_{$organization}/projects/$projectId',
  '/org_{$organization}/repo_{$repository}',
  '/org_{$organization}/repositories/$repositoryId',
  '/org_{$organization}/settings',
])

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>
type Load = { look: string; shifts: Shift[] }
type Shift = { value: number; sources: string[] }

/**
 * Measures how far every page of the console moves while it loads with empty caches: the sum of its layout shifts, as the browser reports
 * them, on a fast and on a slow network, 1440 and 390 pixels wide. `part` selects the pages whose path contains it.
 */
export async function measureShifts(
  browser: Browser,
  hub: BenchHub,
  cookies: Cookies,
  part = '',
): Promise<void> {
  const { ids, smallProjectId } = await seedPages(hub)
  const paths = CONSOLE_PATHS.filter(path => !REDIRECTS.has(path) && path.includes(part))
  const small = paths
    .filter(path => path.includes('$projectId') && !path.includes('$deviceId'))
    .map(path => path.replace('$projectId', smallProjectId))
  const queue = [...paths, ...small].values()
  const worker = async () => {
    for (const path of queue) {
      const url = hub.url + path.replace(/\{?\$(\w+)\}?/g, (_, name: string) => ids[name]!)
      const loads: Load[] = []
      for (const { width, slow } of LOOKS)
        loads.push({
          look: `${width}${slow ? ' slow' : ''}`,
          shifts: await shiftsOf(browser, url, isPublic(path) ? [] : cookies, width, slow),
        })
      reportPage(path, loads)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
}

function reportPage(path: string, loads: readonly Load[]): void {
  const sums = loads.map(({ shifts }) => sumOf(shifts))
  const text = loads.map(({ look }, at) => `${look} ${sums[at]!.toFixed(3)}`).join(', ')
  const isGood = Math.max(...sums) <= LIMIT
  reportGoal('P30', `layout shift of ${path}`, text, `<= ${LIMIT}`, isGood)
  if (isGood) return
  for (const { look, shifts } of loads)
    for (const { value, sources } of shifts.filter(shift => shift.value > LIMIT / 10))
      report(`  moved at ${look}`, `${value.toFixed(3)} ${sources.join('; ')}`)
}

function sumOf(shifts: readonly Shift[]): number {
  return shifts.reduce((sum, { value }) => sum + value, 0)
}

/** Whether a page is shown to people who are not signed in. A signed-in person would be led away from the sign-in page. */
export function isPublic(path: string): boolean {
  return /^\/(login|signup|confirm-email|reset-password|set-password)/.test(path)
}

/**
 * Collects the layout shifts of the page with the elements that moved. The text of an element is not part of it, because the rows of lists
 * differ.
 */
const OBSERVE = `
  window.shifts = []
  const describe = node => {
    const element = node instanceof Element ? node : node?.parentElement
    if (!element) return 'removed'
    const names = []
    for (let at = element; at && at !== document.body && names.length < 3; at = at.parentElement)
      names.unshift(at.tagName.toLowerCase() + (at.id ? '#' + at.id : '') + (at.classList[0] ? '.' + [...at.classList].join('.') : ''))
    return names.join('>')
  }
  const box = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ')
  new PerformanceObserver(list => {
    for (const { value, sources } of list.getEntries())
      shifts.push({ value, sources: sources.map(s => describe(s.node) + ' ' + box(s.previousRect) + ' -> ' + box(s.currentRect)) })
  }).observe({ type: 'layout-shift', buffered: true })`

async function shiftsOf(
  browser: Browser,
  url: string,
  cookies: Cookies,
  width: number,
  slow: boolean,
): Promise<Shift[]> {
  const height = width === 390 ? 844 : 1000
  const context = await browser.newContext({ viewport: { width, height }, serviceWorkers: 'block' })
  try {
    await context.addCookies(cookies)
    await context.addInitScript(OBSERVE)
    const page = await context.newPage()
    if (slow) {
      const devtools = await context.newCDPSession(page)
      await devtools.send('Network.enable')
      await devtools.send('Network.emulateNetworkConditions', FAST_3G)
    }
    const quiet = untilQuiet(page)
    await page.goto(url, { waitUntil: 'commit' })
    await quiet
    return await page.evaluate<Shift[]>('shifts')
  } finally {
    await context.close()
  }
}

/**
 * Resolves when no request of the page has been in flight for a while. The stream of live notices never ends and does not count. Requests
 * older than 5 s do not count either, because Chromium reports no end of some preloads.
 */
async function untilQuiet(page: Page): Promise<void> {
  const startedAt = new Map<unknown, number>()
  let changedAt = Number.POSITIVE_INFINITY
  const change = () => {
    changedAt = performance.now()
  }
  page.on('request', request => {
    if (request.url().endsWith('/api/v1/live')) return
    startedAt.set(request, performance.now())
    change()
  })
  const onEnd = (request: unknown) => {
    if (startedAt.delete(request)) change()
  }
  page.on('requestfinished', onEnd)
  page.on('requestfailed', onEnd)
  const endsAt = performance.now() + LONGEST_MS
  while (performance.now() < endsAt) {
    await pause(50)
    const nowMs = performance.now()
    const isLoading = [...startedAt.values()].some(atMs => nowMs - atMs < LONGEST_REQUEST_MS)
    if (!isLoading && nowMs - changedAt > QUIET_MS) return
  }
  throw new Error(`${page.url()} still sent requests after ${LONGEST_MS / 1000} s.`)
}

/**
 * Fills the hub with rows for every page, and returns the ids of the paths by their names. The organization has one member and one
 * invitation. The second project has a long name and few devices, some with a problem.
 */
export async function seedPages(
  hub: BenchHub,
): Promise<{ ids: Record<string, string>; smallProjectId: string }> {
  const [first] = (await hub.query(
    'select project_id, organization_id from project order by created_at limit 1',
  )) as { project_id: string; organization_id: string }[]
  const { project_id: projectId, organization_id: organizationId } = first!
  await seedDevices(hub, projectId, DEVICES + FEW_DEVICES)
  const cookie = await signIn(hub)
  const small = await invoke(hub, cookie, 'projects_Create', { organizationId, name: LONG_NAME })
  await hub.query(
    `update device set project_id = $1, health = case n % 9 when 0 then 'error' when 1 then 'degraded' end
       from (select device_id, row_number() over () as n from device order by first_seen limit ${FEW_DEVICES}) oldest
      where device.device_id = oldest.device_id`,
    [small.projectId],
  )
  await invoke(hub, cookie, 'organizations_InviteMember', { organizationId, email: 'mira@example.com' })
  const deviceId = await seedDeviceHistory(hub)
  const { repositoryId, packageId, versionId } = await seedSoftware(hub, 0, VERSIONS)
  const status = {
    state: 'failed',
    currentVersion: '2.1.0',
    targetVersion: `2.${VERSIONS}.0`,
    failureCount: 6,
    lastError: 'no space left on device',
    path: 'fleet/gateway-os/stable',
  }
  await invoke(hub, cookie, 'devices_SetProperty', {
    deviceId,
    name: 'dev.nexigon.ota.status',
    value: status,
  })
  const organization = organizationId.replace(/^org_/, '')
  const ids = { organization, projectId, deviceId, repositoryId, packageId, versionId }
  return { ids, smallProjectId: small.projectId! }
}

async function invoke(
  { url }: BenchHub,
  cookie: string,
  action: string,
  input: object,
): Promise<Record<string, string>> {
  const answer = await fetch(`${url}/api/v1/actions/invoke/${action}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url, cookie },
    body: JSON.stringify(input),
  })
  if (!answer.ok) throw new Error(`${action} answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Record<string, string>
}
