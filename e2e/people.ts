import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import type { ActionInput, ActionName, ActionOutput } from '@muster/actions'
import { mailsIn, until } from '@muster/testkit'
import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import { launchBrowser } from './browser.ts'
import { adminOf, type HubChild, newFolder, startedHub } from './hub-child.ts'

export type Person = { email: string; password: string }

/** A hub as a process of its own, its first administrator and a browser. */
export type Stage = AsyncDisposable & {
  hub: HubChild
  admin: Person
  browser: Browser
  /** A page in a browser context of its own: nobody is signed in. */
  newPage(): Promise<Page>
  /** Errors that pages threw or wrote to their consoles, refused requests left out; the browser writes those itself. */
  faults: string[]
}

/** Folder that keeps a picture of every screen that is checked, for eyes; nothing keeps none. */
const PICTURES = process.env.E2E_PICTURES

const SIZES = [
  { width: 1440, height: 1000 },
  { width: 390, height: 844 },
]

/** Starts a hub with these settings and a browser; both end with the scope. */
export async function openStage(env: Record<string, string> = {}): Promise<Stage> {
  await using resources = new AsyncDisposableStack()
  const { path } = resources.use(await newFolder())
  const dataDir = join(path, 'data')
  const hub = resources.use(await startedHub({ dataDir, env }))
  const admin = await adminOf(dataDir)
  const browser = await launchBrowser()
  resources.defer(() => browser.close())
  const faults: string[] = []
  const kept = resources.move()
  return {
    hub,
    admin,
    browser,
    faults,
    async newPage() {
      const context = await browser.newContext({ viewport: SIZES[0]! })
      const page = await context.newPage()
      page.on('pageerror', error => faults.push(error.message))
      page.on('console', message => {
        const isRefusal = message.text().startsWith('Failed to load resource')
        if (message.type() === 'error' && !isRefusal) faults.push(message.text())
      })
      return page
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** Signs in with the form; resolves when a page of the signed-in area has its heading. */
export async function signIn(page: Page, { hub }: Pick<Stage, 'hub'>, { email, password }: Person) {
  await page.goto(`${hub.url}/login`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel(/^Password/).fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.waitForURL(url => url.pathname !== '/login')
  await page.getByRole('heading', { level: 1 }).waitFor()
}

/** The organization that a person is shown who has just signed in. */
export async function organizationOf(page: Page): Promise<string> {
  await page.waitForURL(/\/org_\w+\/projects$/)
  return new URL(page.url()).pathname.split('/')[1]!
}

/** Makes the hub seem to fail at an action, until what is returned is called. */
export async function failAction(page: Page, name: string, message = 'No.'): Promise<() => Promise<void>> {
  const url = `**/invoke/${name}`
  await page.route(url, route => route.fulfill({ status: 500, json: { kind: 'Internal', message } }))
  return () => page.unroute(url)
}

/** Runs an action as the person who is signed in on a page; throws the hub's refusal. */
export async function invoke<N extends ActionName>(
  page: Page,
  name: N,
  input: ActionInput<N>,
): Promise<ActionOutput<N>> {
  const { origin } = new URL(page.url())
  const response = await page.request.post(`${origin}/api/v1/actions/invoke/${name}`, {
    data: input,
    headers: { origin },
  })
  if (!response.ok()) throw new Error(`${name}: ${await response.text()}`)
  return (await response.json()) as ActionOutput<N>
}

/** Signs out from the account menu. */
export async function signOut(page: Page) {
  await page.getByRole('button', { name: /Account menu/ }).click()
  await page.getByRole('menuitem', { name: 'Log Out' }).click()
  await page.waitForURL(/\/login$/)
}

/** The link of the newest mail to an address that leads to a path; waits until it is there and another than `before`. */
export async function mailedLink(
  { hub }: Pick<Stage, 'hub'>,
  address: string,
  path: string,
  before?: string,
): Promise<string> {
  let found: string | undefined
  await until(`a mail to ${address} with a link to ${path}`, async () => {
    const mails = await mailsIn(hub.dataDir)
    found = mails.findLast(({ to, link }) => to.includes(address) && URL.parse(link)?.pathname === path)?.link
    return found !== before && found
  })
  return found!
}

/**
 * Checks a screen in light and dark, on a desktop and on a phone: axe finds nothing, and nothing runs off sideways. What
 * closes when the window changes its size is opened again by `prepare`.
 */
export async function expectGoodScreen(page: Page, name: string, prepare = async (): Promise<void> => {}) {
  const before = page.viewportSize()
  // A page behind another one gets no frames.
  await page.bringToFront()
  for (const colorScheme of ['light', 'dark'] as const) {
    // Without motion, or a colour that is on its way would be measured.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // The console hears of it with the next frame, and shows it with the one after.
    await page.locator(`html[data-theme="${colorScheme}"]`).waitFor()
    await page.evaluate('new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)))')
    for (const size of SIZES) {
      await page.setViewportSize(size)
      await prepare()
      const where = `${name}-${size.width}-${colorScheme}`
      if (PICTURES) {
        await mkdir(PICTURES, { recursive: true })
        await page.screenshot({ path: join(PICTURES, `${where}.png`) })
      }
      expect({ where, violations: await violations(page) }).toEqual({ where, violations: [] })
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect({ where, overflow }).toEqual({ where, overflow: 0 })
    }
  }
  if (before) await page.setViewportSize(before)
  await page.emulateMedia({ colorScheme: null, reducedMotion: null })
}

/** What axe finds on the page as it stands, as rule, place and reason. */
export async function violations(page: Page): Promise<string[]> {
  // What shows on hover is not part of the screen.
  await page.mouse.move(0, 0)
  // A target that the sticky bar happens to cover in part would count as too small.
  await page.evaluate('scrollTo(0, 0)')
  const tags = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']
  // The old mode needs no second page; there are no frames of others.
  const { violations } = await new AxeBuilder({ page }).withTags(tags).setLegacyMode().analyze()
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`)
}

/** How often a page asks for an action while something runs. */
export async function countingRequests(
  page: Page,
  action: string,
  run: () => Promise<void>,
): Promise<number> {
  let count = 0
  const listener = (request: { url(): string }): void => {
    if (request.url().endsWith(`/${action}`)) count++
  }
  page.on('request', listener)
  await run()
  page.off('request', listener)
  return count
}
