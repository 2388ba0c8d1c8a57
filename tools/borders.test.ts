import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
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

const REFUSED: [file: string, imported: string][] = [
  ['packages/actions/src/a.ts', '@muster/hub/log'],
  ['packages/link/src/a.ts', '@muster/actions'],
  ['packages/link/src/a.ts', '../../../apps/hub/src/hub.ts'],
  ['packages/concurrency/src/a.ts', 'node:fs'],
  ['apps/console/src/a.ts', '../../cli/src/cli.ts'],
  ['apps/agent/src/a.ts', '@muster/testkit'],
  ['apps/hub/src/net/a.ts', '../sessions/sessions.ts'],
  ['apps/hub/src/database/client/a.ts', '../queries/devices/devices.ts'],
  ['apps/hub/src/config.ts', './http/tls.ts'],
  ['apps/hub/src/storage/a.ts', '../handler.ts'],
  ['apps/hub/src/bus/a.ts', '../gateway/gateway.ts'],
  ['apps/hub/src/database/queries/accounts/a.ts', '../../../services.ts'],
  ['apps/hub/src/actions/devices/A.ts', '../../gateway/gateway.ts'],
  ['apps/hub/src/invoke.ts', './http/server.ts'],
  ['apps/hub/src/http/a.ts', '../startup/bootstrap.ts'],
  ['apps/hub/src/http/a.ts', '../commands/gc.ts'],
]

it.each(REFUSED)('the linter refuses an import in %s of %s', (file, imported) => {
  const text = `import { a } from '${imported}'\nexport const b = a\n`
  expect(violationsIn({ [file]: text })).toEqual([`${file}: noRestrictedImports`])
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
  }).map(([file, imported]) => [file, `import { a } from '${imported}'\nexport const b = a\n`])
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
