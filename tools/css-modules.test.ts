import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { classesIn } from './css-modules.ts'

const SOURCES = join(import.meta.dirname, '../apps/console/src')
const textOf = (file: string) => readFileSync(join(SOURCES, file), 'utf8')
const modules = globSync('**/*.module.css', { cwd: SOURCES }).sort()
const scripts = globSync('**/*.{ts,tsx}', { cwd: SOURCES })
  .filter(file => !file.endsWith('.d.ts'))
  .map(textOf)

it('finds the classes of a module, without those of other sheets', () => {
  const css = `/* .comment */
    .row > :global(.btn:not(.icon)), .row:not(.wide) { content: ".text"; opacity: 0.5 }
    @media (min-width: 0.5px) { td.head:nth-child(n) { margin: 0 } }`
  expect(classesIn(css)).toEqual(['head', 'row', 'wide'])
})

it('names each CSS Module differently, since class names in the browser begin with the name of the file', () => {
  expect(modules.map(file => basename(file)).filter((name, at, all) => all.indexOf(name) !== at)).toEqual([])
})

it.each(modules)('uses each class of %s', file => {
  const used = scripts.flatMap(text => {
    const [, name] = text.match(new RegExp(`^import (\\w+) from '[./\\w-]*/${basename(file)}'$`, 'm')) ?? []
    const uses = text.replaceAll(/^import .*$/gm, '').matchAll(new RegExp(`\\b${name}\\.(\\w+)`, 'g'))
    return name ? [...uses].map(([, used]) => used!) : []
  })
  expect([...new Set(used)].sort()).toEqual(classesIn(textOf(file)))
})

it.each(modules)('writes each spacing of %s that is a step of the scale as its token', file => {
  const steps = textOf('styles/tokens.css').matchAll(/--space-(\d+): \1px;/g)
  const step = `(?<![-.\\d])(?:${[...steps].map(([, px]) => px).join('|')})px`
  const literal = new RegExp(`^ *(?:margin|padding|gap|row-gap|column-gap)[a-z-]*: [^;]*${step}`, 'gm')
  expect(textOf(file).match(literal) ?? []).toEqual([])
})

it('has a declaration file for each CSS Module, and none without one', () => {
  expect(globSync('**/*.css.d.ts', { cwd: SOURCES }).sort()).toEqual(modules.map(file => `${file}.d.ts`))
})
