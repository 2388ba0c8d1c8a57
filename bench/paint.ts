import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { launchBrowser } from '../e2e/browser.ts'
import { median } from './child.ts'
import { type BenchHub, signIn, startBenchHub } from './hub-process.ts'
import { FAST_3G, isPublic, measureShifts, seedPages } from './layout-shifts.ts'
import { treeProcessorSecs } from './processes.ts'
import { report, reportGoal } from './yardsticks.ts'

const LOADS = 7
const CPU_SLOWDOWN = 4
const PAINT_LIMIT_MS = 1_000
const CONTENT_LIMIT_MS = 2_500
const SILENCES = 5
const SAID_WITHIN_MS = 5_000
const CONSOLES = 1_000
const IDLE_SECS = 20

/**
 * Measures first paint and content of the console on a slow phone, each time with empty caches (docs/goals.md P24), and how far each page moves
 * while it loads (P30). Also measures what 1,000 open consoles cost the hub while nothing happens. Arguments: number of loads of each page
 * (default 7), and a text. With 0 loads, only layout shifts are measured; with a text, only those of pages whose path contains it.
 */
export async function paint(loads = String(LOADS), part = ''): Promise<void> {
  // Builds the console before the hub starts, because the hub serves the files that it finds at its start.
  await import('../tools/build-console.ts')
  await measureMoves(part)
  if (Number(loads) === 0) return
  // One person opens all consoles.
  await using hub = await startBenchHub({ MUSTER_LIMIT_PERSON_STREAMS: String(2 * CONSOLES) })
  const browser = await launchBrowser()
  try {
    const cookies = await signInByForm(browser, hub)
    const { ids } = await seedPages(hub)
    const list = `/org_${ids.organization}/projects/${ids.projectId}/devices`
    for (const [page, path, ready] of [
      ['sign-in page', '/login', 'main form'],
      ['list of devices', list, 'tr[data-index]'],
      [
        'page of a device',
        `${list}/${ids.deviceId}`,
        '[data-settled] > :not([data-pending="true"]) .EntityHead-head',
      ],
    ] as const) {
      const times: Load[] = []
      for (let at = 0; at < Number(loads); at++)
        times.push(await loadSlowly(browser, hub.url + path, isPublic(path) ? [] : cookies, ready))
      const paintMs = median(times.map(({ paintMs }) => paintMs))
      const readyMs = median(times.map(({ readyMs }) => readyMs))
      const size = `${Math.round(median(times.map(({ bytes }) => bytes)) / 1024)} KiB`
      const actions = median(times.map(({ actions }) => actions))
      const limits = `<= ${PAINT_LIMIT_MS} ms, <= ${CONTENT_LIMIT_MS} ms`
      const text = `${paintMs.toFixed(0)} ms, ${readyMs.toFixed(0)} ms, ${size}, ${actions} actions`
      const isSoon = paintMs <= PAINT_LIMIT_MS && readyMs <= CONTENT_LIMIT_MS
      reportGoal('P24', `first paint and content of the ${page}`, text, limits, isSoon)
    }
    await measureSilence(browser, hub, cookies)
  } finally {
    await browser.close()
  }
  await measureConsoles(hub)
}

/** Text of the banner while layout shifts are measured. On a phone it takes two lines. */
const BANNER = 'Maintenance on <b>Sunday</b>, 02:00 to 04:00 UTC. <a href="https://status.example">Status</a>'

/** Measures layout shifts with a banner, which is above everything else. */
async function measureMoves(part: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-bench-'))
  await using _removed = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
  const file = join(folder, 'config.json')
  await writeFile(file, JSON.stringify({ banner: { text: BANNER } }))
  await using hub = await startBenchHub({ MUSTER_CONFIG_JSON: file })
  const browser = await launchBrowser()
  try {
    await measureShifts(browser, hub, await signInByForm(browser, hub), part)
  } finally {
    await browser.close()
  }
}

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>

/** Signs in by the form of the console, because the console sets a cookie in addition to the hub's. */
async function signInByForm(
  browser: Browser,
  { url, signIn: { email, password } }: BenchHub,
): Promise<Cookies> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${url}/login`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel(/^Password/).fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
  const cookies = await context.cookies()
  await context.close()
  return cookies
}

type Load = { paintMs: number; readyMs: number; bytes: number; actions: number }

/** Loads a page in a new browser context on a slow network and processor. */
async function loadSlowly(browser: Browser, url: string, cookies: Cookies, ready: string): Promise<Load> {
  const options: BrowserContextOptions = { viewport: { width: 390, height: 844 }, serviceWorkers: 'block' }
  const context = await browser.newContext(options)
  try {
    await context.addCookies(cookies)
    const page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    await devtools.send('Network.enable')
    await devtools.send('Network.emulateNetworkConditions', FAST_3G)
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN })
    await page.goto(url, { waitUntil: 'commit' })
    await page.locator(ready).first().waitFor()
    // The form of the sign-in page is in the document before it is painted.
    while (!(await page.evaluate(`performance.getEntriesByName('first-contentful-paint').length`)))
      await pause(10)
    return await page.evaluate<Load>(`({
      readyMs: performance.now(),
      paintMs: performance.getEntriesByName('first-contentful-paint')[0].startTime,
      actions: performance.getEntriesByType('resource').filter(({ name }) => name.includes('/actions/invoke/')).length,
      bytes: performance.getEntriesByType('resource').reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
    })`)
  } finally {
    await context.close()
  }
}

/** Measures the time until the page reports that the hub has stopped answering, although its connections stay open. */
async function measureSilence(browser: Browser, hub: BenchHub, cookies: Cookies): Promise<void> {
  const context = await browser.newContext({ serviceWorkers: 'block' })
  await context.addCookies(cookies)
  const page = await context.newPage()
  const said = page.getByText(/^Connection to the hub lost at/)
  const times: number[] = []
  for (let round = 0; round < SILENCES; round++) {
    await page.goto(`${hub.url}/settings/profile`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    // Pings come every 2 s. The pause differs, so that the hub is stopped at different times after a ping.
    await pause(1_000 + round * 400)
    process.kill(hub.pid, 'SIGSTOP')
    const before = performance.now()
    await said.waitFor()
    times.push(performance.now() - before)
    process.kill(hub.pid, 'SIGCONT')
    await said.waitFor({ state: 'detached' })
  }
  await context.close()
  const slowest = Math.max(...times)
  const text = `${median(times).toFixed(0)} ms, at most ${slowest.toFixed(0)} ms`
  reportGoal('P25', 'silent hub said on the page', text, `<= ${SAID_WITHIN_MS} ms`, slowest <= SAID_WITHIN_MS)
}

/** Measures the processor time that the hub and its database need for 1,000 open live streams on which only pings are sent. */
async function measureConsoles(hub: BenchHub): Promise<void> {
  const cookie = await signIn(hub)
  const closing = new AbortController()
  const streams = Array.from({ length: CONSOLES }, async () => {
    const { body, status } = await fetch(`${hub.url}/api/v1/live`, {
      headers: { cookie },
      signal: closing.signal,
    })
    if (status !== 200 || !body) throw new Error(`the live stream answered ${status}`)
    drain(body).catch(() => {})
  })
  await Promise.all(streams)
  await pause(2_000)
  const before = treeProcessorSecs(hub.pid)
  await pause(IDLE_SECS * 1_000)
  const share = (treeProcessorSecs(hub.pid) - before) / IDLE_SECS
  closing.abort()
  report(`hub and database with ${CONSOLES} idle consoles`, `${(share * 100).toFixed(1)} % of a core`)
}

async function drain(body: ReadableStream<Uint8Array>): Promise<void> {
  for await (const _chunk of body) {
    // Reads the pings and drops them.
  }
}
