import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../e2e/browser.ts'
import { median } from './child.ts'
import { type BenchHub, startBenchHub } from './hub-process.ts'
import { seedDeviceHistory, seedDevices, seedSoftware } from './list-seed.ts'
import { withForeignCores } from './processes.ts'
import { report, reportGoal } from './yardsticks.ts'

const DEVICES = 100_000
const VERSIONS = 50
const ROUNDS = 5
const CPU_SLOWDOWN = 4
const LIMIT_MS = 100
/**
 * Pause after an input, in milliseconds, until the browser has reported its Event Timing entry. The browser does so after the next
 * paint.
 */
const SETTLE_MS = 700

/**
 * Measures how soon the console responds to a person (docs/goals.md P26), on a processor that is 4 times slower and with 100,000 devices
 * in the project. An interaction lasts from its input to the next paint. The browser's Event Timing reports it in steps of 8 ms. Work of
 * other processes lengthens it, so each output row shows their load. Arguments: number of devices, number of rounds (default 5), and a
 * text. With a text, only interactions whose name contains it are measured.
 */
export async function interact(devices = String(DEVICES), rounds = String(ROUNDS), part = ''): Promise<void> {
  // Builds the console before the hub starts, because the hub serves the files that it finds at its start.
  await import('../tools/build-console.ts')
  await using hub = await startBenchHub()
  const [project] = (await hub.query('select project_id from project limit 1')) as { project_id: string }[]
  await seedDevices(hub, project!.project_id, Number(devices))
  const deviceId = await seedDeviceHistory(hub)
  const { repositoryId, packageId, versionId } = await seedSoftware(hub, 0, VERSIONS)
  const ids = { DEVICE: deviceId, REPOSITORY: repositoryId, PACKAGE: packageId, VERSION: versionId }
  report('devices', devices)
  const browser = await launchBrowser()
  try {
    const context = await browser.newContext({
      viewport: { width: 1440, height: 1000 },
      serviceWorkers: 'block',
    })
    await context.addInitScript(OBSERVE)
    const page = await context.newPage()
    const list = await openList(page, hub, project!.project_id)
    const devtools = await context.newCDPSession(page)
    for (const { name, path, ready, act, undo } of INTERACTIONS) {
      if (!name.includes(part)) continue
      const times: number[] = []
      const where = path.replace(/[A-Z]{6,}/g, id => ids[id as keyof typeof ids])
      await page.goto(new URL(where, `${list}/`).href)
      await page.locator(ready).first().waitFor()
      // Lets the page finish its load. Otherwise the interaction would wait for the rest of that work.
      await pause(SETTLE_MS)
      const { foreignCores } = await withForeignCores(async () => {
        for (let round = 0; round < Number(rounds); round++) {
          await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN })
          times.push(await slowest(page, () => act(page)))
          await devtools.send('Emulation.setCPUThrottlingRate', { rate: 1 })
          await undo?.(page)
          await pause(SETTLE_MS)
        }
      })
      const atMost = Math.max(...times)
      const text = `${median(times).toFixed(0)} ms, at most ${atMost.toFixed(0)} ms (others: ${foreignCores.toFixed(1)} cores)`
      reportGoal('P26', name, text, `<= ${LIMIT_MS} ms`, median(times) <= LIMIT_MS)
    }
  } finally {
    await browser.close()
  }
}

/** Signs in as a person does, and returns the address of the device list. */
async function openList(page: Page, hub: BenchHub, projectId: string): Promise<string> {
  await page.goto(`${hub.url}/login`)
  await page.getByLabel('Email').fill(hub.signIn.email)
  await page.getByLabel(/^Password/).fill(hub.signIn.password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
  return `${page.url()}/${projectId}/devices`
}

/** Collects the duration of each interaction. The browser reports entries that took 16 ms or longer. */
const OBSERVE = `
  window.interactions = []
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (entry.interactionId > 0) interactions.push(entry.duration)
  }).observe({ type: 'event', durationThreshold: 16 })`

/**
 * Duration of the slowest interaction during `act`, in milliseconds. It is 16 if all interactions were faster, because the browser
 * reports none of these.
 */
async function slowest(page: Page, act: () => Promise<unknown>): Promise<number> {
  await page.evaluate('interactions.length = 0')
  await act()
  await pause(SETTLE_MS)
  return page.evaluate<number>('Math.max(16, ...interactions)')
}

type Interaction = {
  name: string
  /** Path and query, relative to the address of the device list. Words in capitals stand for ids. */
  path: string
  /** Selector of an element that shows that the page has its data. */
  ready: string
  act: (page: Page) => Promise<unknown>
  /** Brings the page back for the next round. */
  undo?: (page: Page) => Promise<unknown>
}

const pressEscape = (page: Page) => page.keyboard.press('Escape')
const press = (name: string) => (page: Page) =>
  page.getByRole('button', { name, exact: true }).first().click()
// The query sets the sort order. Without it, the list would have the sort order of an earlier interaction, which the hub stores.
const LIST = { path: '?sort=-firstSeen', ready: 'table[aria-busy=false] tbody tr[data-index]' }
const DEVICE = { path: 'DEVICE', ready: '.properties-row' }
const TIMELINE = { path: 'DEVICE/timeline?range=all', ready: '.TimelineRow-row' }
const REPOSITORY = '../../../repositories/REPOSITORY'

const INTERACTIONS: Interaction[] = [
  { ...LIST, name: 'list: open a menu', act: press('Export'), undo: pressEscape },
  { ...LIST, name: 'list: open the columns', act: press('Columns'), undo: pressEscape },
  { ...LIST, name: 'list: toggle a filter', act: press('Disconnected'), undo: press('All') },
  { ...LIST, name: 'list: sort', act: press('Name'), undo: press('First Seen') },
  {
    ...LIST,
    name: 'list: select a row',
    act: page => page.getByRole('checkbox', { name: 'Select gateway-000003' }).click(),
    undo: page => page.getByRole('checkbox', { name: 'Select gateway-000003' }).click(),
  },
  {
    ...LIST,
    name: 'list: select all',
    act: page => page.getByRole('checkbox', { name: 'Select all on this list' }).click(),
    undo: page => page.getByRole('checkbox', { name: 'Select all on this list' }).click(),
  },
  {
    ...LIST,
    name: 'list: type in the search',
    act: page => page.getByLabel('Filter devices').pressSequentially('gateway', { delay: 80 }),
    undo: page => page.getByLabel('Filter devices').fill(''),
  },
  {
    ...LIST,
    name: 'palette: open',
    act: page => page.keyboard.press('Control+k'),
    undo: pressEscape,
  },
  {
    ...LIST,
    name: 'palette: open and search',
    act: async page => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Jump to' }).pressSequentially('gateway', { delay: 80 })
    },
    // Escape clears the text first, then it closes the dialog.
    undo: async page => {
      await pressEscape(page)
      await pressEscape(page)
    },
  },
  { ...DEVICE, name: 'device: open a menu', act: press('More actions'), undo: pressEscape },
  { ...DEVICE, name: 'device: change the range', act: press('30 d'), undo: press('24 h') },
  {
    ...DEVICE,
    name: 'device: search the properties',
    act: page => page.getByLabel('Search keys and values').pressSequentially('bench.7', { delay: 80 }),
    undo: page => page.getByLabel('Search keys and values').fill(''),
  },
  {
    ...DEVICE,
    name: 'device: edit a property',
    act: page => page.getByRole('button', { name: 'Edit bench.001', exact: true }).click(),
    undo: press('Cancel'),
  },
  {
    ...DEVICE,
    name: 'device: open past values',
    act: page => page.getByRole('button', { name: 'Past values of bench.002', exact: true }).click(),
    undo: page => page.getByRole('button', { name: 'Past values of bench.002', exact: true }).click(),
  },
  {
    ...DEVICE,
    name: 'device: open a mark of a lane',
    act: page => page.locator('.Lane-lane a').last().click(),
    undo: page => page.goBack(),
  },
  { ...TIMELINE, name: 'timeline: toggle a kind', act: press('Events'), undo: press('All') },
  {
    ...TIMELINE,
    name: 'timeline: open an entry',
    act: page =>
      page
        .getByRole('button', { name: /^Details/ })
        .first()
        .click(),
    undo: page =>
      page
        .getByRole('button', { name: /^Details/ })
        .first()
        .click(),
  },
  {
    ...TIMELINE,
    name: 'timeline: type in the search',
    act: page => page.getByLabel('Search what happened').pressSequentially('bench', { delay: 80 }),
    undo: page => page.getByLabel('Search what happened').fill(''),
  },
  {
    name: 'version: show more reasons',
    path: `${REPOSITORY}/packages/PACKAGE/versions/VERSION`,
    ready: 'role=table[name="Failures by reason"]',
    act: page => page.getByRole('button', { name: /^Show \d+ more reasons?$/ }).click(),
    undo: async page => {
      await page.reload()
      await page.getByRole('table', { name: 'Failures by reason' }).waitFor()
    },
  },
  {
    name: 'software: refresh',
    path: '../software',
    ready: 'role=table[name=/^Versions of/]',
    act: press('Refresh'),
  },
  {
    name: 'packages: type in the filter',
    path: `${REPOSITORY}/packages`,
    ready: 'table[aria-busy=false] tbody tr',
    act: page => page.getByLabel('Filter packages').pressSequentially('gateway', { delay: 80 }),
    undo: page => page.getByLabel('Filter packages').fill(''),
  },
  {
    name: 'guide: change the tab',
    path: 'connect',
    ready: '[role=tabpanel]',
    act: page => page.getByRole('tab', { name: 'Simulated' }).click(),
    undo: page => page.getByRole('tab', { name: 'This machine' }).click(),
  },
  {
    name: 'jobs: toggle a filter',
    path: '/admin/jobs',
    ready: 'table[aria-busy=false] td[data-k="Attempts"]',
    act: press('Completed'),
    undo: press('All'),
  },
  {
    name: 'dashboard: refresh',
    path: '/admin/dashboard',
    ready: 'role=region[name="Needs attention"]',
    act: press('Refresh'),
  },
  {
    name: 'projects: open a menu',
    path: '../..',
    ready: '[data-card]',
    act: press('Sort Problems first'),
    undo: pressEscape,
  },
  {
    name: 'project settings: open a form',
    path: '../settings',
    ready: '.DangerZone-zone',
    act: press('Pin a property'),
    undo: press('Cancel'),
  },
  {
    name: 'repository settings: type in a field',
    path: `${REPOSITORY}/settings`,
    ready: '.DangerZone-zone',
    act: page => page.getByLabel('Endpoint').pressSequentially('https://s3', { delay: 80 }),
    undo: page => page.getByLabel('Endpoint').fill(''),
  },
]
