import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import {
  DECIDED_OTHERWISE,
  SITUATIONS,
  type SpecifiedSituation,
  type SpecifiedText,
} from './specification-texts.ts'

/** SHA-256 of docs/specification.md, which is never edited. */
const DIGEST = '41b5b56cdd2afdeb89cafc27d416f1931ae439070757d214adde4ca11db0ecd1'

type Quote = { section: string; text: string }

const DOCS = join(import.meta.dirname, '../docs')
const ENTRIES: readonly SpecifiedSituation[] = SITUATIONS
/** The specification shortens the questions after the first one to their ends. */
const QUESTION = 'Are you sure you want to '

/** Sections of docs/specification.md and docs/product.md by number, without line breaks. */
let specification: Map<string, string>
let product: Map<string, string>
let decisions: string

beforeAll(async () => {
  const read = (name: string) => readFile(join(DOCS, name), 'utf8')
  specification = sectionsOf(await read('specification.md'))
  product = sectionsOf(await read('product.md'))
  decisions = await read('decisions.md')
})

it('C25: keeps docs/specification.md word for word', async () => {
  const bytes = await readFile(join(DOCS, 'specification.md'))
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(DIGEST)
})

it('C25: shows each text that docs/specification.md quotes, or names the decision against it', () => {
  const quoted = [...specification].flatMap(([section, text]) =>
    quotesIn(text, /(?<![\w'])'([^']+)'(?!\w)/g).map(quote => ({
      section,
      text: quote.replace(/^\.\.\./, QUESTION),
    })),
  )
  expect(quoted.length).toBeGreaterThan(40)
  expect(quoted.filter(quote => !isReached(quote) && !isDecided(quote))).toEqual([])
})

it('C25: finds each statement that is decided otherwise, and its decision', () => {
  const found = DECIDED_OTHERWISE.map(({ section, statement, heading, decision }) => ({
    statement: specification.get(section)!.includes(statement) && statement,
    decision: below(heading).includes(decision) && decision,
  }))
  expect(found).toEqual(DECIDED_OTHERWISE.map(({ statement, decision }) => ({ statement, decision })))
})

it('C25: quotes nothing in docs/product.md that no page shows', () => {
  const quoted = [...product].flatMap(([section, text]) =>
    quotesIn(text, /"([^"]+)"/g).map(quote => ({ section, text: quote })),
  )
  expect(quoted.length).toBeGreaterThan(10)
  expect(quoted.filter(quote => !isReached(quote))).toEqual([])
})

/** Whether a situation of the quote's section shows the text, so that `specification-texts.slow.test.ts` looks for it there. */
function isReached({ section, text }: Quote): boolean {
  return ENTRIES.some(
    entry =>
      entry.section.split(', ').includes(section) &&
      entry.texts.some(
        one =>
          wordsOf(one).includes(text) ||
          (typeof one === 'object' && 'part' in one && one.part.includes(text)),
      ),
  )
}

function isDecided({ section, text }: Quote): boolean {
  return DECIDED_OTHERWISE.some(one => one.section === section && one.statement.includes(`'${text}'`))
}

function wordsOf(text: SpecifiedText): readonly string[] {
  return typeof text === 'string' ? [text] : Object.values(text).flat()
}

function sectionsOf(document: string): Map<string, string> {
  const parts = document.split(/^## (\d+)\. .*$/m).slice(1)
  return new Map(
    parts.flatMap((number, n) =>
      n % 2 === 0 ? [[number, parts[n + 1]!.replace(/\s+/g, ' ')] as const] : [],
    ),
  )
}

function quotesIn(text: string, quote: RegExp): string[] {
  return [...text.matchAll(quote)].map(([, words]) => words!)
}

/** The text of docs/decisions.md below a heading, without line breaks. */
function below(heading: string): string {
  const [, text = ''] = decisions.split(new RegExp(`^#+ ${heading}$`, 'm'))
  return text.split(/^#/m)[0]!.replace(/\s+/g, ' ')
}
