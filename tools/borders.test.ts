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
import { dirname, join, matchesGlob } from 'node:path'
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
  ['packages/actions/src/b.ts', '../../link/src/link.ts'],
  ['packages/link/src/c.ts', '../../actions/src/ids.ts'],
  ['packages/concurrency/src/a.ts', 'node:fs'],
  ['packages/predicates/src/a.ts', '@muster/actions'],
  ['packages/predicates/src/b.ts', '../../concurrency/src/every.ts'],
  ['apps/console/src/a.ts', '../../cli/src/cli.ts'],
  ['apps/agent/src/a.ts', '@muster/testkit'],
  ['apps/hub/src/platform/net/a.ts', '../../../../agent/src/agent.ts'],
  ['apps/hub/src/platform/net/b.ts', '@muster/testkit'],
  ['apps/hub/src/features/devices/actions/A.ts', '@muster/agent'],
  ['apps/hub/src/link/gateway/a.ts', '../../../../agent/src/agent.ts'],
  ['apps/hub/src/startup/a.ts', '../../../agent/src/simulator/fleet.ts'],
  ['apps/hub/src/commands/a.ts', '@muster/testkit'],
  ['apps/hub/src/features/a.ts', '@muster/testkit'],
  ['apps/hub/src/hub.ts', '@muster/testkit/device'],
  ['apps/hub/src/main.ts', '../../console/src/routes.tsx'],
  // The storeys of the hub.
  ['apps/hub/src/platform/audit/a.ts', '../../link/gateway/gateway.ts'],
  ['apps/hub/src/platform/audit/b.ts', '../../features/devices/index.ts'],
  ['apps/hub/src/platform/audit/c.ts', '../../startup/bootstrap.ts'],
  ['apps/hub/src/platform/audit/d.ts', '../../hub.ts'],
  ['apps/hub/src/link/gateway/b.ts', '../../features/devices/index.ts'],
  ['apps/hub/src/link/gateway/c.ts', '../../commands/doctor.ts'],
  ['apps/hub/src/link/metrics.ts', '../main.ts'],
  ['apps/hub/src/features/devices/a.ts', '../../hub.ts'],
  ['apps/hub/src/features/devices/b.ts', '../../startup/demo.ts'],
  ['apps/hub/src/features/devices/jobs/A.ts', '../../../commands/gc.ts'],
]

/** Features of the hub. */
const FEATURES = readdirSync(join(ROOT, 'apps/hub/src/features'), { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => name)

it('the linter refuses imports of other apps, of higher storeys, and of the test kit outside of tests', () => {
  const files = REFUSED.map(([file, imported]) => [file, importing(imported)])
  const expected = REFUSED.map(([file]) => `${file}: noRestrictedImports`)
  expect(violationsIn(Object.fromEntries(files)).sort()).toEqual(expected.sort())
})

it('the linter refuses imports of a file of another feature, whichever the features are', () => {
  expect(FEATURES.length).toBeGreaterThan(9)
  const files = FEATURES.flatMap((feature, at) => {
    const other = FEATURES[(at + 1) % FEATURES.length]!
    return [
      [`apps/hub/src/features/${feature}/a.ts`, importing(`../${other}/b.ts`)],
      [`apps/hub/src/features/${feature}/actions/A.ts`, importing(`../../${other}/actions/B.ts`)],
    ] as const
  })
  const expected = files.map(([file]) => `${file}: noRestrictedImports`)
  expect(violationsIn(Object.fromEntries(files)).sort()).toEqual(expected.sort())
})

type Override = { includes: string[]; linter: { rules: { style?: { noRestrictedImports?: unknown } } } }

it('each file of the hub, tests left out, belongs to one storey', () => {
  const storeys = (JSON.parse(readFileSync(join(ROOT, 'biome.json'), 'utf8')).overrides as Override[])
    .filter(({ linter }) => linter.rules.style?.noRestrictedImports)
    .map(({ includes }) => includes.filter(pattern => !pattern.startsWith('!')))
    .filter(([first]) => first!.startsWith('apps/hub/src/'))
  const files = readdirSync(join(ROOT, 'apps/hub/src'), { recursive: true, encoding: 'utf8' })
    .filter(file => /\.ts$/.test(file) && !/\.test\.ts$|(^|\/)testing\//.test(file))
    .map(file => `apps/hub/src/${file}`)
  expect(files.length).toBeGreaterThan(100)
  const countOf = (file: string): number =>
    storeys.filter(patterns => patterns.some(pattern => matchesGlob(file, pattern))).length
  expect(files.filter(file => countOf(file) !== 1)).toEqual([])
})

it('the linter accepts imports of the same room, of lower storeys, of the index of a feature and of packages', () => {
  const texts = Object.entries({
    'packages/actions/src/a.ts': '@muster/predicates',
    'packages/link/src/a.ts': '@muster/concurrency',
    'apps/hub/src/platform/net/a.ts': '../limits/limits.ts',
    'apps/hub/src/platform/sessions/a.ts': '@muster/actions/exact-json',
    'apps/hub/src/link/gateway/a.ts': '../../platform/audit/events.ts',
    'apps/hub/src/link/gateway/b.ts': '@muster/link',
    'apps/hub/src/features/devices/actions/A.ts': '../../../platform/pipeline/handler.ts',
    'apps/hub/src/features/devices/actions/B.ts': '../device-filter.ts',
    'apps/hub/src/features/devices/actions/C.ts': '../../audit/index.ts',
    'apps/hub/src/features/devices/a.ts': '../../platform/audit/events.ts',
    'apps/hub/src/features/devices/b.ts': '../audit/index.ts',
    'apps/hub/src/features/devices/c.ts': '../../link/telemetry/device-events.ts',
    'apps/hub/src/features/index.ts': './devices/feature.ts',
    'apps/hub/src/hub.ts': './features/devices/jobs/A.ts',
    'apps/hub/src/startup/a.ts': '../features/projects/first-project.ts',
    'apps/hub/src/platform/net/a.test.ts': '@muster/testkit',
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
