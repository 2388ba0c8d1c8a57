import { CONSOLE_PATHS } from '@muster/actions'
import { openApiDocument } from '@muster/actions/openapi'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { actionsOf, REDIRECTS, urlOf } from './page-actions.ts'
import { openPopulatedStage, type PopulatedStage } from './populated-stage.ts'

// Opens every page with answers that no hub of this release gives: unknown words, texts in every script and direction, texts of 1 MiB, and
// objects without members. failed-queries.test.ts lets each query of a page fail in turn.

/** The parts of a JSON Schema by which members are changed. */
type Schema = {
  type?: unknown
  enum?: readonly unknown[]
  const?: unknown
  pattern?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
}

/** How an answer is changed: its words of a fixed list, its free texts, and its objects below the outermost one. */
type Change = { word?: () => string; text?: () => string; isBare?: boolean }

/** Texts of scripts and directions, of characters that join, and one without a place to break. */
const TEXTS = [
  'مضخة الميناء رقم ٧',
  'תחנת שאיבה צפונית',
  '港口起重机三号',
  'クレーン横浜第二',
  '부산 항만 크레인',
  'बंदरगाह क्रेन',
  'ท่าเรือเครนเหนือ',
  'ᠬᠠᠭᠤᠴᠢᠨ ᠬᠡᠷᠡᠭ',
  '𒀀𒁀𒂀𒃀',
  '\u202ereversed\u202c text \u2067isolated\u2069',
  `e${'\u0301'.repeat(60)}`,
  '👩‍👩‍👧‍👦🏴‍☠️🇳🇴',
  'W'.repeat(300),
  'a\u00a0b\u2028c\u0000d',
]
const MEBIBYTE = 2 ** 20

const KINDS = ['bare', 'usual', 'strange', 'long'] as const
type Kind = (typeof KINDS)[number]
/** Makes the change of all answers of a page. */
const CHANGES: Record<Kind, () => Change> = {
  usual: () => ({}),
  strange: () => {
    let count = 0
    return { word: () => 'Unheard', text: () => TEXTS[count++ % TEXTS.length]! }
  },
  long: () => {
    let isFirst = true
    return {
      text: () => {
        const text = isFirst ? 'long '.repeat(MEBIBYTE / 5) : 'short'
        isFirst = false
        return text
      },
    }
  },
  bare: () => ({ isBare: true }),
}

/** What no page may show, whatever an answer has. */
const UNREADABLE = /.{0,30}(?:\bundefined\b|\bNaN\b|Invalid Date|\[object ).{0,30}/g
/** A sentence that says what a page could not load. */
const MISSING = /could not|went wrong|lacks/i

const documented = openApiDocument() as {
  paths: Record<string, { post: { responses: { 200: { content: Record<string, { schema: Schema }> } } } }>
}
const schemaOf = (action: string): Schema =>
  documented.paths[`/api/v1/actions/invoke/${action}`]!.post.responses[200].content['application/json']!
    .schema

let populated: PopulatedStage
const pages = new Map<Kind, Page>()
/** Errors that a page threw or wrote to its console, and its changed answers, since it was opened. */
const seen = new Map<Kind, { faults: string[]; changedCount: number }>()
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  populated = resources.use(await openPopulatedStage())
  const context = (await populated.stage.signedInPage()).context()
  for (const kind of KINDS) {
    const page = await context.newPage()
    page.on('pageerror', ({ message }) => seen.get(kind)!.faults.push(message))
    page.on('console', message => message.type() === 'error' && seen.get(kind)!.faults.push(message.text()))
    if (kind !== 'usual') await changeAnswers(page, kind)
    pages.set(kind, page)
  }
})

afterAll(() => resources.disposeAsync())

/** Changes all answers that a page gets from now on, except who is signed in, without which only the sign-in page is shown. */
async function changeAnswers(page: Page, kind: Kind): Promise<void> {
  await page.route(/\/invoke\/(?!actor_GetActor)\w+$/, async route => {
    const response = await route.fetch()
    if (!response.ok()) return route.fulfill({ response })
    const action = route.request().url().split('/').at(-1)!
    const answer: unknown = await response.json()
    const json = changed(schemaOf(action), answer, CHANGES[kind](), 0)
    if (JSON.stringify(json) !== JSON.stringify(answer)) seen.get(kind)!.changedCount++
    await route.fulfill({ response, json })
  })
}

function changed(schema: Schema | undefined, value: unknown, change: Change, depth: number): unknown {
  const { items, properties = {}, additionalProperties, pattern, ...own } = branchOf(schema, value) ?? {}
  if (Array.isArray(value)) return value.map(item => changed(items, item, change, depth + 1))
  if (typeof value === 'object' && value !== null) {
    if (change.isBare && depth > 0) return {}
    const others = typeof additionalProperties === 'object' ? additionalProperties : undefined
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        changed(properties[name] ?? others, member, change, depth + 1),
      ]),
    )
  }
  if (typeof value !== 'string') return value
  if (own.enum || own.const !== undefined) return change.word?.() ?? value
  // Ids and times have a pattern.
  return own.type === 'string' && pattern === undefined ? (change.text?.() ?? value) : value
}

/** The branch of a union that a value belongs to. */
function branchOf(schema: Schema | undefined, value: unknown): Schema | undefined {
  const branches = schema?.anyOf ?? schema?.oneOf
  if (!branches) return schema
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return branches.find(branch => {
    if (branch.const !== undefined) return branch.const === value
    if (branch.enum) return branch.enum.includes(value)
    if (branch.type !== type || typeof value !== 'object' || value === null) return branch.type === type
    return Object.entries(branch.properties ?? {}).every(
      ([name, member]) =>
        member.const === undefined || member.const === (value as Record<string, unknown>)[name],
    )
  })
}

/** Opens a page with one kind of answers, and reads what it shows. */
async function shownAt(path: string, kind: Kind) {
  const page = pages.get(kind)!
  seen.set(kind, { faults: [], changedCount: 0 })
  await actionsOf(page, urlOf(populated, path))
  const text = await page.locator('body').innerText()
  const { faults, changedCount } = seen.get(kind)!
  return {
    text,
    changedCount,
    headingCount: await page.locator('h2').count(),
    screen: {
      hasRows: (await page.locator('tbody tr').count()) > 0,
      overflow: await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
      unreadable: text.match(UNREADABLE) ?? [],
      faults,
    },
  }
}

it.each(CONSOLE_PATHS.filter(path => !REDIRECTS[path]))(
  'shows strange answers, and says which members are missing: %s',
  async path => {
    const [bare, usual, ...others] = await Promise.all(KINDS.map(kind => shownAt(path, kind)))
    for (const [index, { screen, headingCount }] of others.entries()) {
      const kind = KINDS[index + 2]
      expect.soft({ kind, ...screen }).toEqual({ kind, ...usual!.screen })
      // A page may show one more section, such as that of versions with an unknown name.
      expect.soft(headingCount, kind).toBeGreaterThanOrEqual(usual!.headingCount)
    }
    const { unreadable } = usual!.screen
    expect.soft(bare!.screen).toMatchObject({ unreadable, faults: [], overflow: 0 })
    if (bare!.changedCount > 0) expect.soft(bare!.text).toMatch(MISSING)
  },
)
