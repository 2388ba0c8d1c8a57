import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { classesIn, globalClassesIn } from './css-modules.ts'

const SOURCES = join(import.meta.dirname, '../apps/console/src')
const textOf = (file: string) => readFileSync(join(SOURCES, file), 'utf8')
const modules = globSync('**/*.module.css', { cwd: SOURCES }).sort()
const scripts = globSync('**/*.{ts,tsx}', { cwd: SOURCES })
  .filter(file => !file.endsWith('.d.ts'))
  .map(textOf)

/** Names of all global classes, sorted. */
function globalNames(): string[] {
  const sheets = globSync('{styles,offline}/*.css', { cwd: SOURCES }).flatMap(file => classesIn(textOf(file)))
  return [...new Set([...sheets, ...modules.flatMap(file => globalClassesIn(textOf(file)))])].sort()
}

it('finds the classes of a module, without those of other sheets', () => {
  const css = `/* .comment */
    .row > :global(.btn:not(.icon)), .row:not(.wide) { content: ".text"; opacity: 0.5 }
    @media (min-width: 0.5px) { td.head:nth-child(n) { margin: 0 } }`
  expect(classesIn(css)).toEqual(['head', 'row', 'wide'])
})

it('has at most 60 global classes, each with a name that says what it is, and all of them in use', () => {
  const names = globalNames()
  expect(names.length).toBeLessThanOrEqual(60)
  expect(names.filter(name => name.length < 3 || /^(tbl|btn|idc|ico|lbl|sr)(?![a-z])/.test(name))).toEqual([])
  const pages = globSync('**/*.html', { cwd: join(SOURCES, '..'), exclude: ['dist'] })
  const texts = [...scripts, ...pages.map(file => readFileSync(join(SOURCES, '..', file), 'utf8'))]
  const isUsed = (name: string) => texts.some(text => new RegExp(`["'\`\\s]${name}["'\`\\s]`).test(text))
  expect(names.filter(name => !isUsed(name))).toEqual([])
})

it('uses no class that no sheet has', () => {
  const known = new Set(globalNames())
  const unknown = scripts.flatMap(text =>
    [...text.matchAll(/className=(?:"([^"]*)"|\{`([^`]*)`\})/g)]
      .flatMap(([, plain, template]) =>
        (plain ?? template!.replace(/\$\{(?:[^{}`]|`[^`]*`|\{[^}]*\})*\}/g, ' ')).split(/\s+/),
      )
      .filter(name => /^[a-z][\w-]*$/.test(name) && !known.has(name)),
  )
  expect([...new Set(unknown)]).toEqual([])
})

it('has the classes that browser tests and benches look for', () => {
  const own = modules.flatMap(file =>
    classesIn(textOf(file)).map(name => `${basename(file, '.module.css')}-${name}`),
  )
  const known = new Set([...own, ...globalNames()])
  const folder = join(import.meta.dirname, '..')
  const missing = globSync('{e2e,bench,apps/console/src}/**/*.{ts,tsx}', { cwd: folder }).flatMap(file => {
    const calls = readFileSync(join(folder, file), 'utf8').matchAll(
      /(?:locator|querySelector(?:All)?|closest|matches|ready:)\(?\s*(['"`])([^\n]+?)\1/g,
    )
    const names = [...calls].flatMap(([, , selector]) => [
      ...selector!.matchAll(/(?<![\w/])\.([a-zA-Z][\w-]*)/g),
    ])
    return names.flatMap(([, name]) => (known.has(name!) ? [] : [`${file}: ${name}`]))
  })
  expect(missing).toEqual([])
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
