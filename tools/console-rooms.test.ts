import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'

const SOURCES = join(import.meta.dirname, '../apps/console/src')

/** Files of a room that generated tables, the tree of routes and other rooms' routes import. */
const JOINED = ['routes.ts', 'log-sentences.ts', 'job-words.ts', 'live-queries.ts']

const roomOf = (file: string) => /^pages\/([^/]+)\//.exec(file)?.[1]

/** Imports of insides of another room in a file of the console, each as `file: imported`. */
function trespasses(file: string, text: string): string[] {
  const imports = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)
  return [...imports].flatMap(([, path]) => {
    const imported = relative('/', join('/', dirname(file), path!))
    const room = roomOf(imported)
    const isOpen =
      imported.startsWith(`pages/${room}/shared/`) || JOINED.includes(imported.split('/').at(-1)!)
    return !room || room === roomOf(file) || isOpen ? [] : [`${file}: ${imported}`]
  })
}

it('finds imports of another room beside its folder shared, its routes and its tables', () => {
  const text = `import { a } from '../shared/a.ts'
    import styles from '../../bulk/b.module.css'
    import { c } from '../../bulk/shared/c.ts'
    import type { D } from '../../bulk/routes.ts'
    const e = () => import('../../bulk/lazy/E.tsx')
    import { f } from '../../../api/f.ts'`
  expect(trespasses('pages/devices/list/a.ts', text)).toEqual([
    'pages/devices/list/a.ts: pages/bulk/b.module.css',
    'pages/devices/list/a.ts: pages/bulk/lazy/E.tsx',
  ])
  expect(trespasses('shell/a.ts', "import { b } from '../pages/devices/b.ts'")).toHaveLength(1)
})

it('no file of the console imports the insides of another room', () => {
  const files = globSync('**/*.{ts,tsx}', { cwd: SOURCES }).filter(file => !file.endsWith('.d.ts'))
  expect(files.filter(file => roomOf(file)).length).toBeGreaterThan(200)
  expect(files.flatMap(file => trespasses(file, readFileSync(join(SOURCES, file), 'utf8')))).toEqual([])
})
