import { CONSOLE_PATHS } from '@muster/actions'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { actionsOf, urlOf } from './page-actions.ts'
import { openPopulatedStage, type PopulatedStage } from './populated-stage.ts'

let populated: PopulatedStage
let page: Page
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  populated = resources.use(await openPopulatedStage())
  page = await populated.stage.signedInPage()
})

afterAll(() => resources.disposeAsync())

/** Answers without which nobody is signed in, or no page has an organization. */
const OF_SESSION = /actor_GetActor|users_GetDetails|users_QueryOrganizations$/
/** Answers to each page. In each, other members are missing. */
const ROUNDS = 5
const MEMBER_SHARE = 12

const MIXED =
  '\u202Eعربي \u05E9\u05DC\u05D5\u05DD\u202C 漢字かな 한국어 ไทยไม่มีช่องว่าง हिन्दी 👩‍👩‍👧‍👦 Z͑͗̀a̴̛͝l̵̐͒g̷o ﷽ \u2066\u0000\uD800'
const LONG = `${'W'.repeat(512)} ${'mmm '.repeat(260_000)}`

type Change = (value: unknown, key: string, random: () => number) => unknown

/** Changes the members of an answer, at any depth. */
function changed(value: unknown, change: Change, random: () => number, key = ''): unknown {
  if (Array.isArray(value)) return value.map(each => changed(each, change, random, key))
  if (typeof value !== 'object' || value === null) return change(value, key, random)
  const entries = Object.entries(value).flatMap(([name, member]) => {
    const next = changed(member, change, random, name)
    const result = typeof member === 'object' && member !== null ? change(next, name, random) : next
    return result === undefined ? [] : [[name, result]]
  })
  return Object.fromEntries(entries)
}

function randomOf(seed: number): () => number {
  let state = seed >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

const isWord = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z]{3,24}$/.test(value)
const isTime = (value: string) => /^\d{4}-\d\d-\d\dT/.test(value)
const isText = (value: unknown, key: string): value is string =>
  typeof value === 'string' && !/Id$|^id$|cursor|url/i.test(key) && !isTime(value)

let long = 0
const CHANGES: Record<string, Change> = {
  'unknown words': value => (isWord(value) ? 'Unheard' : value),
  'texts of every script and direction': (value, key) =>
    isText(value, key) && !isWord(value) ? MIXED : value,
  'texts of 1 MiB': (value, key) => (isText(value, key) && !isWord(value) && long++ === 0 ? LONG : value),
  ...Object.fromEntries(
    Array.from({ length: ROUNDS }, (_, round) => [
      `missing members, ${round + 1}`,
      (value: unknown, _key: string, random: () => number) =>
        random() < 1 / MEMBER_SHARE ? undefined : value,
    ]),
  ),
}

it.each(CONSOLE_PATHS.flatMap(path => Object.keys(CHANGES).map(what => [path, what] as const)))(
  'shows the rest of %s with %s',
  async (path, what) => {
    const random = randomOf(
      inject('fuzzSeed') + what.length * 131 + path.length * 17 + Number(what.at(-1) ?? 0),
    )
    const { faults } = populated.stage
    faults.length = 0
    await page.route('**/invoke/*', async route => {
      if (OF_SESSION.test(route.request().url())) return route.continue()
      const response = await route.fetch()
      if (!response.ok()) return route.fulfill({ response })
      long = 0
      return route.fulfill({ response, json: changed(await response.json(), CHANGES[what]!, random) })
    })
    try {
      await actionsOf(page, urlOf(populated, path))
      const shown = await page.evaluate<{ heading: string; overflow: number; text: number }>(`({
        heading: document.querySelector('h1').textContent,
        overflow: document.documentElement.scrollWidth - innerWidth,
        text: document.querySelector('main').innerText.length,
      })`)
      expect.soft(shown.heading).not.toBe('Something went wrong!')
      expect.soft(shown.overflow).toBe(0)
      expect.soft(shown.text).toBeGreaterThan(10)
      expect(faults).toEqual([])
    } finally {
      await page.unroute('**/invoke/*')
    }
  },
)
