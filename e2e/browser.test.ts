import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { launchPackaged } from './browser.ts'
import { openStage, type Stage } from './people.ts'

const NO_FONTS = '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig></fontconfig>'

let stage: Stage
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  stage = resources.use(await openStage())
})

afterAll(() => resources.disposeAsync())

it.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'H1: renders text with the fonts of the packaged Chromium where the system has none',
  async () => {
    await using cleanup = new AsyncDisposableStack()
    const folder = await mkdtemp(join(tmpdir(), 'muster-no-fonts-'))
    cleanup.defer(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'fonts.conf'), NO_FONTS)
    cleanup.defer(() => void vi.unstubAllEnvs())
    vi.stubEnv('FONTCONFIG_PATH', folder)
    vi.stubEnv('FONTCONFIG_FILE', join(folder, 'fonts.conf'))
    const browser = cleanup.use(await launchPackaged())
    const text = await browser.newPage()
    await text.setContent(`<p style="font-family: 'DejaVu Sans', sans-serif">Harbour</p>`)
    const tools = await text.context().newCDPSession(text)
    await tools.send('DOM.enable')
    await tools.send('CSS.enable')
    const { root } = await tools.send('DOM.getDocument')
    const { nodeId } = await tools.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'p' })
    const { fonts } = await tools.send('CSS.getPlatformFontsForNode', { nodeId })
    expect(fonts.map(({ familyName, glyphCount }) => ({ familyName, glyphCount }))).toEqual([
      { familyName: 'Open Sans', glyphCount: 'Harbour'.length },
    ])
  },
)

it('H1: starts a browser that has ended again, and signs in again', async () => {
  const page = await stage.signedInPage()
  expect(await stage.signedInPage()).toBe(page)
  const browser = page.context().browser()!
  const ended = new Promise(resolve => browser.once('disconnected', resolve))
  const tools = await browser.newBrowserCDPSession()
  await Promise.all([ended, tools.send('Browser.crash').catch(() => {})])
  const further = await stage.signedInPage()
  await further.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
})

it('H1: opens a page that has crashed again', async () => {
  const page = await stage.signedInPage()
  const crashed = new Promise(resolve => page.once('crash', resolve))
  await Promise.all([crashed, page.goto('chrome://crash').catch(() => {})])
  const further = await stage.signedInPage()
  await further.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
})
