import { CONSOLE_PATHS } from '@muster/actions'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { actionsOf, REDIRECTS, urlOf } from './page-actions.ts'
import { twoFrames } from './people.ts'
import { openPopulatedStage, type PopulatedStage } from './populated-stage.ts'

let populated: PopulatedStage
let page: Page
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  populated = resources.use(await openPopulatedStage())
  page = await (await populated.stage.signedInPage()).context().newPage()
  // Most pages are higher than this window.
  await page.setViewportSize({ width: 1000, height: 320 })
})

afterAll(() => resources.disposeAsync())

const scrollY = () => page.evaluate<number>('Math.round(scrollY)')

/** Waits until the page shows an address at a position. */
async function expectPlace(url: string, atY: number): Promise<void> {
  await page.waitForURL(url)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await expect.poll(async () => Math.abs((await scrollY()) - atY)).toBeLessThanOrEqual(4)
}

/** Pages of signed-in people that show data. */
const SCREENS = CONSOLE_PATHS.filter(path => !REDIRECTS[path] && /^\/(?:admin|org|settings|user)/.test(path))

it.each(SCREENS)('keeps search parameters, place and focus over back, forward and reload: %s', async path => {
  await actionsOf(page, `${urlOf(populated, path)}?q=crane`)
  const url = page.url()
  const most = await page.evaluate<number>('document.documentElement.scrollHeight - innerHeight')
  const atY = Math.min(200, most)
  await page.mouse.move(500, 160)
  await page.evaluate(`scrollTo(0, ${atY})`)
  await expect.poll(scrollY).toBe(atY)
  // The console learns the place from an event of the next frame.
  await twoFrames(page)
  await page.reload()
  await expectPlace(url, atY)

  // A link of the console changes the page without loading the document.
  await page.evaluate(`[...document.querySelectorAll('a[href]')].find(link => link.checkVisibility() && !link.target && !link.hash &&
    link.origin === location.origin && link.pathname !== '/' && link.pathname !== location.pathname)?.click()`)
  await page.waitForURL(now => now.href !== url)
  const heading = page.getByRole('heading', { level: 1 })
  await heading.waitFor()
  await expect.poll(() => page.evaluate('document.activeElement !== document.body')).toBe(true)
  const next = page.url()
  await page.goBack()
  await expectPlace(url, atY)
  await expect.poll(() => page.evaluate('document.activeElement !== document.body')).toBe(true)
  await page.goForward()
  await page.waitForURL(next)
  await heading.waitFor()
})
