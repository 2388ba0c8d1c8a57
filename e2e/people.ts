import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type ActionInput, type ActionName, type ActionOutput, newId, publicIdOf } from '@muster/actions'
import { hashSecret } from '@muster/hub/secrets'
import { mailsIn } from '@muster/testkit/mail'
import { until } from '@muster/testkit/until'
import axe, { type RunOptions } from 'axe-core'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { expect, inject } from 'vitest'
import { launchBrowser } from './browser.ts'
import { copyFirstStart } from './copied-start.ts'
import { adminOf, databaseOf, type HubChild, newFolder, startedHub } from './hub-child.ts'

export type Person = { email: string; password: string }

/** A hub in a child process, its first administrator and pages of a browser. */
export type Stage = AsyncDisposable & {
  hub: HubChild
  admin: Person
  /** Opens a browser context without a session. Transitions and animations are off, unless the options say otherwise. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  /** Opens a page in a new browser context of desktop size. */
  newPage(): Promise<Page>
  /**
   * The page on which a person is signed in, the first administrator by default. All calls for a person resolve to the same page, unless
   * the page was closed or has crashed, or its browser has ended. Then a new page is opened with a new session.
   */
  signedInPage(options?: SignedInOptions): Promise<Page>
  /** Errors that pages threw or wrote to their consoles. The browser's own messages about refused requests are left out. */
  faults: string[]
}

type SignedInOptions = {
  person?: Pick<Person, 'email'>
  /** Runs on the new page before the sign-in, for example to grant permissions or to install a fake clock. */
  prepare?: (page: Page) => Promise<unknown>
}

/** Folder for a screenshot of every checked screen. If it is not set, no screenshots are taken. */
const PICTURES = process.env.E2E_PICTURES

const SIZES = [
  { width: 1440, height: 1000 },
  { width: 390, height: 844 },
]

let launched: Promise<Browser> | undefined

/** The browser of this process. All test files of the process share it, and Playwright ends it when the process exits. */
async function runningBrowser(): Promise<Browser> {
  launched ??= launchBrowser().then(
    browser => browser.on('disconnected', () => (launched = undefined)),
    (error: unknown) => {
      launched = undefined
      throw error
    },
  )
  return launched
}

/**
 * Starts a hub with these environment variables on a copy of the data folder that the global set-up made (`first-start.ts`). The hub
 * and all browser contexts are closed on disposal.
 */
export async function openStage(env: Record<string, string> = {}): Promise<Stage> {
  await using resources = new AsyncDisposableStack()
  const dataDir = await copyFirstStart(resources.use(await newFolder()))
  const hub = resources.use(await startedHub({ dataDir, env }))
  const admin = await adminOf(dataDir)
  const contexts = resources.use(new AsyncDisposableStack())
  const faults: string[] = []
  const kept = resources.move()
  // Animations are off. Painting them takes a tenth of a core for each open page, and Playwright waits for the animations of a button
  // before it clicks.
  const newContext = async (options?: BrowserContextOptions) => {
    const browser = await runningBrowser()
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
    contexts.defer(async () => {
      // A handler of a route that still waits for the hub would otherwise fail when its page closes, outside of any test.
      await Promise.all(context.pages().map(page => page.unrouteAll({ behavior: 'ignoreErrors' })))
      await context.close()
    })
    return context
  }
  const newPage = async () => {
    // A service worker would hide page loads from `page.route`.
    const context = await newContext({ viewport: SIZES[0]!, serviceWorkers: 'block' })
    const page = await context.newPage()
    page.on('pageerror', error => faults.push(error.message))
    page.on('console', message => {
      const isRefusal = message.text().startsWith('Failed to load resource')
      if (message.type() === 'error' && !isRefusal) faults.push(message.text())
    })
    return page
  }
  const signedIn = new Map<string, Page>()
  const stage: Stage = {
    hub,
    admin,
    faults,
    newContext,
    newPage,
    async signedInPage({ person = admin, prepare } = {}) {
      const open = signedIn.get(person.email)
      if (open && !open.isClosed()) return open
      const page = await newPage()
      await prepare?.(page)
      await startSession(page, stage, person)
      // A crashed page stays open, but nothing can be done with it.
      page.on('crash', () => signedIn.delete(person.email))
      signedIn.set(person.email, page)
      return page
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
  return stage
}

/** Signs in with the form. Resolves when the page after the sign-in shows its heading. */
export async function signIn(page: Page, { hub }: Pick<Stage, 'hub'>, { email, password }: Person) {
  await page.goto(`${hub.url}/login`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel(/^Password/).fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.waitForURL(url => url.pathname !== '/login')
  // The form stays on the page until the code of the next page is loaded.
  await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor({ state: 'detached' })
  await page.getByRole('heading', { level: 1 }).waitFor()
}

/**
 * Signs in the first administrator, or another person, by a row in the database, and opens their first page. The form and its check
 * of the password take longer, so `signIn` is for tests of the form or of the sign-in's entry in the audit log.
 */
export async function startSession(
  page: Page,
  { hub, admin }: Stage,
  { email }: Pick<Person, 'email'> = admin,
) {
  const token = newId('u_session_sk')
  const userAgent = await page.evaluate<string>('navigator.userAgent')
  await using database = await databaseOf(hub.dataDir)
  const { rowCount } = await database.query(
    `insert into session (session_id, token_hash, user_id, user_agent, expires_at)
     select $1, $2, user_id, $3, now() + interval '1 day' from "user" where lower(email) = lower($4)`,
    [publicIdOf(token), hashSecret(token), userAgent, email],
  )
  if (rowCount !== 1) throw new Error(`found ${rowCount} people with the address ${email}, expected one`)
  await page
    .context()
    .addCookies([{ name: 'muster', value: token, url: hub.url, httpOnly: true, sameSite: 'Lax' }])
  await page.goto(hub.url)
  await page.getByRole('heading', { level: 1 }).waitFor()
}

/** Lets a page read and write the clipboard. */
export async function allowClipboard(page: Page): Promise<void> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
}

/** Id of the organization that is shown right after a sign-in. */
export async function organizationOf(page: Page): Promise<string> {
  await page.waitForURL(/\/org_\w+\/projects$/)
  return new URL(page.url()).pathname.split('/')[1]!
}

/** Makes an action fail with status 500, until the returned function is called. */
export async function failAction(page: Page, name: string, message = 'No.'): Promise<() => Promise<void>> {
  const url = `**/invoke/${name}`
  await page.route(url, route => route.fulfill({ status: 500, json: { kind: 'Internal', message } }))
  return () => page.unroute(url)
}

/** Runs an action as the person who is signed in on a page. Throws if the hub refuses it. */
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

/** Advances the fake clock by the 10 s in which a deletion can be undone. The page needs `page.clock.install()` before the deletion. */
export async function passUndoTime(page: Page) {
  await page.clock.fastForward(10_000)
}

/**
 * Waits until an element is visible that a page shows after its next poll. Advances the fake clock of the page in steps of `intervalMs`,
 * so that the test need not wait. The page needs `page.clock.install()` before the poll is due.
 */
export async function polled(expected: Locator, intervalMs: number) {
  const { clock } = expected.page()
  await until(`${expected} is visible`, async () => {
    if (await expected.isVisible()) return true
    await clock.fastForward(intervalMs)
    // The hub answers after some time, and a poll sooner would only repeat the request.
    return expected.waitFor({ timeout: 1_000 }).then(
      () => true,
      () => false,
    )
  })
}

/** Signs out from the account menu. */
export async function signOut(page: Page) {
  await page.getByRole('button', { name: /Account menu/ }).click()
  await page.getByRole('menuitem', { name: 'Log Out' }).click()
  await page.waitForURL(/\/login$/)
}

/**
 * Waits for a mail to `address` with a link to `path`, and returns the link of the newest such mail. A link that
 * equals `before` does not count.
 */
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

/** Settings with which a screen is shown. `zoom` is the factor of the browser's zoom. */
type Look = {
  width: number
  height: number
  colorScheme: 'light' | 'dark'
  forcedColors?: 'active'
  zoom?: number
}

const DESKTOP: Look = { ...SIZES[0]!, colorScheme: 'light' }

/** The looks in which `npm run test:axe` checks each screen. `npm test` runs axe only in the first look. */
const LOOKS: Look[] = [
  DESKTOP,
  { ...DESKTOP, colorScheme: 'dark' },
  { ...SIZES[1]!, colorScheme: 'light' },
  { ...SIZES[1]!, colorScheme: 'dark' },
  { width: 320, height: 640, colorScheme: 'light' },
  { ...DESKTOP, zoom: 2 },
  { ...DESKTOP, forcedColors: 'active' },
]

/**
 * Checks a screen: axe finds no violation, and no content overflows sideways at desktop and phone size. `npm run test:axe`
 * checks the screen in all `LOOKS`. `prepare` runs after each resize, for example to open a menu again.
 */
export async function expectGoodScreen(page: Page, name: string, prepare = async (): Promise<void> => {}) {
  const before = page.viewportSize()
  // Brings the page to the front, because a page in the background gets no animation frames.
  await page.bringToFront()
  const looks = looksNow()
  for (const look of looks) {
    await show(page, look)
    await prepare()
    const where = `${name}-${nameOf(look)}`
    if (PICTURES) {
      await mkdir(PICTURES, { recursive: true })
      await page.screenshot({ path: join(PICTURES, `${where}.png`), ...(await wholePage(page)) })
    }
    if (inject('onlyPictures')) continue
    if (inject('allLooks') || look === DESKTOP)
      expect({ where, violations: await violations(page, look) }).toEqual({ where, violations: [] })
    // The console may render the layout of a new width some frames after the resize.
    const overflow = () => page.evaluate('document.documentElement.scrollWidth - innerWidth')
    await expect.poll(async () => ({ where, overflow: await overflow() })).toEqual({ where, overflow: 0 })
  }
  if (before) await page.setViewportSize(before)
  await page.emulateMedia({ colorScheme: null, forcedColors: null })
  // The resize closes open menus in the next frame.
  await twoFrames(page)
}

/** The looks of `expectGoodLooks`. The gate checks each screen in the first of `LOOKS`. */
const FURTHER_LOOKS = LOOKS.filter(look => look !== DESKTOP && look.width !== 320 && look.zoom === undefined)

/** Checks a screen with axe in both themes, at desktop and phone size, and with forced colours. */
export async function expectGoodLooks(page: Page, name: string) {
  for (const look of FURTHER_LOOKS) {
    await show(page, look)
    const where = `${name}-${nameOf(look)}`
    expect.soft({ where, violations: await violations(page, look) }).toEqual({ where, violations: [] })
  }
  await show(page, DESKTOP)
  await page.emulateMedia({ colorScheme: null, forcedColors: null })
}

/** Checks an open menu. The menu closes when the window is resized, so `open` opens it again for each size. */
export async function expectGoodMenu(page: Page, name: string, open: (page: Page) => Promise<void>) {
  await page.keyboard.press('Escape')
  await expectGoodScreen(page, `menu-${name}`, async () => {
    await page.keyboard.press('Escape')
    await open(page)
  })
  await page.keyboard.press('Escape')
}

function looksNow(): Look[] {
  if (inject('allLooks')) return LOOKS
  return inject('onlyPictures') ? LOOKS.slice(0, 4) : [DESKTOP, { ...DESKTOP, ...SIZES[1]! }]
}

/**
 * Options for a screenshot. Only `npm run pictures` takes the whole page, at most 2,400 pixels high. Without it, or with an open dialog,
 * menu or panel, only the viewport is taken.
 */
async function wholePage(page: Page) {
  const height = await page.evaluate<number>(
    `document.querySelector('dialog[open], [role=menu], :popover-open') ? 0 : Math.min(2400, document.documentElement.scrollHeight)`,
  )
  const viewport = page.viewportSize()!
  if (!inject('onlyPictures') || height <= viewport.height) return {}
  return { fullPage: true, clip: { x: 0, y: 0, width: viewport.width, height } }
}

/** Lets pages that open later ignore timers of this length in milliseconds: what they would do after it does not happen. */
export async function ignoreTimersOf(page: Page, ignoredMs: number) {
  await page.addInitScript(`
    const later = window.setTimeout
    window.setTimeout = (run, ms, ...rest) => (ms === ${ignoredMs} ? 0 : later(run, ms, ...rest))
  `)
}

async function show(page: Page, { width, height, colorScheme, forcedColors, zoom = 1 }: Look) {
  // Disables transitions. Otherwise axe would measure intermediate colours.
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce', forcedColors: forcedColors ?? null })
  // A browser's zoom of 200 % halves the size of the viewport in CSS pixels.
  await page.setViewportSize({ width: width / zoom, height: height / zoom })
  // The console receives the new theme in the next frame and renders it in the following one.
  await page.locator(`html[data-theme="${colorScheme}"]`).waitFor()
  if (PICTURES) await showTop(page)
  await twoFrames(page)
}

/** Waits until the page has rendered what the last change of its size or theme causes. */
export async function twoFrames(page: Page) {
  await page.evaluate('new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)))')
}

function nameOf({ width, colorScheme, forcedColors, zoom }: Look): string {
  return [width, colorScheme, forcedColors && 'forced', zoom && `zoom${zoom}`].filter(Boolean).join('-')
}

/**
 * Number of rows per table or list that axe (the accessibility checker) checks in `npm test`. The duration of a check grows with the number
 * of elements: 3 s for a list of 50 devices. `npm run test:axe` checks all rows.
 */
const CHECKED_ROWS = 6

/**
 * Returns the violations that axe finds on the page, each with rule, element and reason. In the dark theme it checks contrast alone,
 * because the other rules do not depend on colours. With forced colours it does not check contrast: the browser chooses the colours
 * when it paints, which axe cannot read.
 */
export async function violations(page: Page, look: Look = DESKTOP): Promise<string[]> {
  await showTop(page)
  const tags = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']
  const isDark = look.colorScheme === 'dark'
  const options: RunOptions = {
    // No rule that runs needs the style sheets, which axe would load and parse again for each check.
    preload: false,
    // Otherwise axe would spend a quarter of its time on collecting the elements that pass.
    resultTypes: ['violations'],
    runOnly: isDark ? { type: 'rule', values: ['color-contrast'] } : { type: 'tag', values: tags },
    rules: look.forcedColors ? { 'color-contrast': { enabled: false } } : {},
  }
  // The script of axe has 0.5 MB and often takes longer to load than the check itself, so each document loads it only once.
  if (!(await page.evaluate('Boolean(globalThis.axe)'))) await page.evaluate(axe.source)
  const context = { exclude: inject('allLooks') ? [] : [`:is(tr, li):nth-child(n + ${CHECKED_ROWS + 1})`] }
  return page.evaluate<string[]>(
    `axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes[0]?.html + ' ' + nodes[0]?.failureSummary))`,
  )
}

/**
 * Moves the mouse away, because tooltips and hovered rows are not part of the screen, and scrolls up. Otherwise the sticky bar would be in
 * the middle of a picture of the whole page, and a touch target that the bar partly covers would count as too small.
 */
async function showTop(page: Page) {
  await page.mouse.move(0, 0)
  await page.evaluate('scrollTo(0, 0)')
}

/** Returns the number of requests for an action that a page sends while `run` runs. */
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
