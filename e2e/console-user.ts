import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '@muster/testkit/until'
import type { Browser, Page } from 'playwright-core'

/** Time in which a page must be shown, in milliseconds. The console itself sends a failing query three times within 3 s. */
const SHOWN_MS = 15_000
/** Pause between two clicks of the person, in milliseconds. */
const LOOK_MS = 250

/** Results of a simulated person who uses the console. */
type Seen = {
  /** Number of pages that were loaded or clicked. */
  loads: number
  /** Pages that were shown only after the person reloaded them. */
  repeated: string[]
  /** Pages that were not shown even after a reload. */
  failed: string[]
}

/** A person who clicks through the pages of a project. `stop` resolves when the last page was shown. */
export type ConsoleUser = { page: Page; seen: Seen; stop(): Promise<Seen> }

/** Opens a page of a browser context that has the session cookie. `url` is the address of a proxy that terminates TLS. */
export async function consolePage(browser: Browser, url: string, cookie: string): Promise<Page> {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    serviceWorkers: 'block',
    reducedMotion: 'reduce',
  })
  const [name, value] = cookie.split('=') as [string, string]
  await context.addCookies([{ name, value, url, httpOnly: true, secure: true, sameSite: 'Lax' }])
  return context.newPage()
}

/**
 * Opens the console with a session cookie, and clicks from the project list to devices and back until `stop` is called. `url` is the
 * address of a proxy that terminates TLS.
 */
export async function consoleUser(
  browser: Browser,
  url: string,
  cookie: string,
  project: { organizationId: string; projectId: string },
): Promise<ConsoleUser> {
  const page = await consolePage(browser, url, cookie)
  const projects = `/${project.organizationId}/projects`
  const devices = `${projects}/${project.projectId}/devices`
  const seen: Seen = { loads: 0, repeated: [], failed: [] }
  let isOver = false

  const load = async (path: string): Promise<void> => {
    const response = await page.goto(url + path, { waitUntil: 'domcontentloaded', timeout: SHOWN_MS })
    if (!response?.ok()) throw new Error(`${path} was answered ${response?.status()}`)
    await page.getByRole('heading', { level: 1 }).waitFor({ timeout: SHOWN_MS })
  }
  const rows = page.locator('main tbody tr')
  const steps: [name: string, step: () => Promise<void>][] = [
    ['project list', () => load(projects)],
    [
      'device list',
      async () => {
        await load(devices)
        await rows.first().waitFor({ timeout: SHOWN_MS })
      },
    ],
    [
      'device',
      async () => {
        if (!page.url().endsWith(devices)) await load(devices)
        await rows.first().locator('a').first().click({ timeout: SHOWN_MS })
        await page.getByRole('heading', { level: 2 }).first().waitFor({ timeout: SHOWN_MS })
        const problems = page.getByText('Something went wrong!')
        if ((await problems.count()) > 0) throw new Error('the page of a device shows a problem')
      },
    ],
  ]
  const tries = async (step: () => Promise<void>): Promise<string | undefined> =>
    step().then(
      () => undefined,
      (error: Error) => error.message.split('\n')[0],
    )
  const leave = async (): Promise<void> => void (await page.goto('about:blank', { timeout: SHOWN_MS }))
  const running = (async () => {
    while (!isOver)
      for (const [name, step] of steps) {
        seen.loads++
        const first = await tries(step)
        if (first !== undefined) {
          seen.repeated.push(`${name}: ${first}`)
          // After a failed load, Chromium shows its error page a little later, and that would interrupt the next load.
          await until('the error page is gone', () => tries(leave).then(failure => failure === undefined))
          const second = await tries(step)
          if (second !== undefined) seen.failed.push(`${name}: ${second}`)
        }
        await sleep(LOOK_MS)
      }
  })()
  return {
    page,
    seen,
    async stop() {
      isOver = true
      await running
      await page.context().close()
      return seen
    },
  }
}
