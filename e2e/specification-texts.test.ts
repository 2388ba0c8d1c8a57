import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  NEVER_SHOWN,
  SITUATIONS,
  type SpecifiedSituation,
  type SpecifiedText,
} from './specification-texts.ts'

const ENTRIES: readonly SpecifiedSituation[] = SITUATIONS

it('has a situation for each text that docs/product.md quotes', async () => {
  const product = await readFile(join(import.meta.dirname, '../docs/product.md'), 'utf8')
  const sections = product.slice(product.indexOf('\n## '))
  const quoted = [...sections.matchAll(/"([^"]+)"/g)].map(([, text]) => text!.replace(/\s+/g, ' '))
  expect(quoted.length).toBeGreaterThan(40)
  const known = ENTRIES.flatMap(({ texts }) => texts.flatMap(textsOf))
  const isKnown = (text: string): boolean =>
    known.includes(text) ||
    ENTRIES.some(({ texts }) =>
      texts.some(one => typeof one === 'object' && 'part' in one && one.part.includes(text)),
    )
  expect(quoted.filter(text => !isKnown(text) && !NEVER_SHOWN.includes(text))).toEqual([])
})

function textsOf(text: SpecifiedText): readonly string[] {
  return typeof text === 'string' ? [text] : Object.values(text).flat()
}
