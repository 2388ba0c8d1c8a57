import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, matchesGlob, relative } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')

/** Lints files with the given texts by this repository's import rules. Returns each violation as `file: rule`. */
function violationsIn(files: Record<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'muster-borders-'))
  try {
    copyFileSync(join(ROOT, 'biome.json'), join(folder, 'biome.json'))
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const { stdout } = spawnSync(
      join(ROOT, 'node_modules/.bin/biome'),
      [
        'lint',
        '--vcs-enabled=false',
        '--reporter=json',
        '--only=style/noRestrictedImports',
        '--only=suspicious/noImportCycles',
        '.',
      ],
      { cwd: folder, encoding: 'utf8' },
    )
    const { diagnostics } = JSON.parse(stdout) as {
      diagnostics: { category: string; location: { path: string } }[]
    }
    return diagnostics.map(({ category, location }) => `${location.path}: ${category.split('/').at(-1)}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function importing(module: string): string {
  return `import { a } from '${module}'\nexport const b = a\n`
}

const REFUSED: [file: string, imported: string][] = [
  ['packages/actions/src/a.ts', '@muster/hub/log'],
  ['packages/link/src/a.ts', '@muster/actions'],
  ['packages/link/src/b.ts', '../../../apps/hub/src/hub.ts'],
  ['packages/concurrency/src/a.ts', 'node:fs'],
  ['apps/console/src/a.ts', '../../cli/src/cli.ts'],
  ['apps/agent/src/a.ts', '@muster/testkit'],
  ['apps/hub/src/net/a.ts', '../../../agent/src/agent.ts'],
  ['apps/hub/src/net/b.ts', '@muster/testkit'],
  ['apps/hub/src/storage/a.ts', '../../../cli/src/cli.ts'],
  ['apps/hub/src/actions/devices/A.ts', '@muster/agent'],
  ['apps/hub/src/gateway/a.ts', '../../../agent/src/agent.ts'],
  ['apps/hub/src/startup/a.ts', '../../../agent/src/simulator/fleet.ts'],
  ['apps/hub/src/commands/a.ts', '@muster/testkit'],
  ['apps/hub/src/hub.ts', '@muster/testkit/device'],
  ['apps/hub/src/main.ts', '../../console/src/routes.tsx'],
]

it('the linter refuses imports of other apps, and of the test kit outside of tests', () => {
  const files = REFUSED.map(([file, imported]) => [file, importing(imported)])
  const expected = REFUSED.map(([file]) => `${file}: noRestrictedImports`)
  expect(violationsIn(Object.fromEntries(files)).sort()).toEqual(expected.sort())
})

type Override = { includes: string[]; linter: { rules: { style?: { noRestrictedImports?: unknown } } } }

/** Path patterns of the files of each layer of the hub, lowest layer first. Patterns with `!` exclude files. */
const LAYERS = (JSON.parse(readFileSync(join(ROOT, 'biome.json'), 'utf8')).overrides as Override[])
  .filter(({ linter }) => linter.rules.style?.noRestrictedImports)
  .map(({ includes }) => includes)
  .filter(([first]) => first!.startsWith('apps/hub/src/'))

it('each file of the hub, tests left out, belongs to one layer', () => {
  const files = readdirSync(join(ROOT, 'apps/hub/src'), { recursive: true, encoding: 'utf8' })
    .filter(file => /\.ts$/.test(file) && !/\.test\.ts$|(^|\/)testing\//.test(file))
    .map(file => `apps/hub/src/${file}`)
  expect(files.length).toBeGreaterThan(100)
  const layersOf = (file: string): number[] =>
    LAYERS.flatMap((patterns, layer) => {
      const matches = (isExcluding: boolean): boolean =>
        patterns.some(pattern =>
          pattern.startsWith('!')
            ? isExcluding && matchesGlob(file, pattern.slice(1))
            : !isExcluding && matchesGlob(file, pattern),
        )
      return matches(false) && !matches(true) ? [layer] : []
    })
  expect(files.filter(file => layersOf(file).length !== 1)).toEqual([])
})

it('the linter refuses imports of each higher layer of the hub', () => {
  const fileIn = (pattern: string): string => pattern.replace('/**', '/a.ts')
  const included = LAYERS.map(patterns => patterns.filter(pattern => !pattern.startsWith('!')))
  const files = included.flatMap((patterns, layer) =>
    included
      .slice(layer + 1)
      .flat()
      .map((higher, index) => {
        const folder = dirname(fileIn(patterns[0]!))
        return [`${folder}/a${index}.ts`, importing(relative(folder, fileIn(higher)))]
      }),
  )
  expect(files.length).toBeGreaterThan(50)
  const expected = files.map(([file]) => `${file}: noRestrictedImports`)
  expect(violationsIn(Object.fromEntries(files)).sort()).toEqual(expected.sort())
})

it('the linter accepts imports of the same layer, of lower layers and of packages', () => {
  const texts = Object.entries({
    'packages/link/src/a.ts': '@muster/concurrency',
    'apps/hub/src/net/a.ts': '../limits/limits.ts',
    'apps/hub/src/sessions/a.ts': '@muster/actions/exact-json',
    'apps/hub/src/jobs/a.ts': '../storage/blobs.ts',
    'apps/hub/src/actions/devices/A.ts': '../../handler.ts',
    'apps/hub/src/http/a.ts': '../core.ts',
    'apps/hub/src/hub.ts': './http/server.ts',
    'apps/hub/src/net/a.test.ts': '@muster/testkit',
  }).map(([file, imported]) => [file, importing(imported)])
  expect(violationsIn(Object.fromEntries(texts))).toEqual([])
})

it('the linter refuses an import cycle of types', () => {
  const a = "import type { B } from './b.ts'\nexport type A = { b: B }\n"
  const b = "import type { A } from './a.ts'\nexport type B = { a: A }\n"
  expect(violationsIn({ 'tools/a.ts': a, 'tools/b.ts': b }).sort()).toEqual([
    'tools/a.ts: noImportCycles',
    'tools/b.ts: noImportCycles',
  ])
})
