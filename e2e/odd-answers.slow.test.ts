import {
  connectDevice,
  type FakeDevice,
  forwardLocally,
  ODD_ANSWERS,
  oddServer,
  SHOWN_TEXT,
} from '@muster/testkit'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { firstToken } from './hub-child.ts'
import { invoke, openStage, startSession } from './people.ts'

// Opens each odd answer of a device's web server in Chromium, directly and through the hub (docs/assurance.md, "Odd answers of devices").

const resources = new AsyncDisposableStack()
let page: Page
let device: FakeDevice
/** Origins of the device's web server: its own, and the one at the hub. */
let direct: string
let through: string

beforeAll(async () => {
  const stage = resources.use(await openStage())
  const odd = resources.use(await oddServer())
  device = resources.use(
    await connectDevice({
      url: stage.hub.url,
      token: firstToken(stage.hub),
      link: { onRequest: forwardLocally },
    }),
  )
  page = await stage.newPage()
  await startSession(page, stage)
  const { url } = await invoke(page, 'devices_IssueHttpProxyToken', {
    deviceId: device.deviceId,
    port: odd.port,
  })
  direct = `http://127.0.0.1:${odd.port}`
  through = new URL(url).origin
  // The first visit exchanges the token of the link for a cookie.
  await page.goto(url)
})
afterAll(() => resources.disposeAsync())

/**
 * The text that the browser shows for a URL; `refused` for an error page of the browser or of the hub. Each visit has a page of its own, because a
 * browser's error page may interrupt the next navigation.
 */
async function shownAt(url: string): Promise<string> {
  const visit = await page.context().newPage()
  try {
    let status: number | undefined
    const ended = Promise.withResolvers<void>()
    visit.on('response', answer => {
      if (answer.request().isNavigationRequest()) status = answer.status()
    })
    // Chromium shows a page that breaks off, but does not call it loaded.
    visit.on('load', () => ended.resolve())
    visit.on('requestfailed', request => request.isNavigationRequest() && ended.resolve())
    await visit.goto(url, { waitUntil: 'commit' }).catch(() => ended.resolve())
    if (!visit.url().startsWith('http')) return 'refused'
    await ended.promise
    // The context changes when a page leads to another one by itself.
    const read = () => visit.waitForFunction('document.body?.textContent').then(text => text.jsonValue())
    const text = String(await read().catch(read)).trim()
    return status === 502 && text.includes('Muster') ? 'refused' : text
  } finally {
    await visit.close()
  }
}

/** Some versions of Chromium show the head of this answer as text, others refuse the answer as the hub does. */
const DEPENDS_ON_VERSION = 'ICY 200 OK'

it.each(
  ODD_ANSWERS.map((answer, n) => [answer.name, answer, n] as const).filter(
    ([name]) => name !== DEPENDS_ON_VERSION,
  ),
)('D4: shows the same with and without the hub: %s', async (_name, { shows }, n) => {
  const expected = await shownAt(`${direct}/${n}`)
  expect.soft(await shownAt(`${through}/${n}`)).toBe(expected)
  if (shows === 'page') expect(expected).toBe(SHOWN_TEXT)
  else if (shows === 'refused') expect(expected).toBe('refused')
  else expect(expected).toContain(SHOWN_TEXT.slice(0, 5))
})
