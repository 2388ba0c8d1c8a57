// Everything that must hold, in the order in which a fault is cheapest to find; ends with the line `N passed, N failed`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const results = mkdtempSync(join(tmpdir(), 'muster-results-'))
const count = { passed: 0, failed: 0, skipped: 0 }

check('types', 'tsc', ['-p', '.'])
check('types of the console', 'tsc', ['-p', 'apps/console'])
check('format and lint', 'biome', ['ci', '--error-on-warnings', '.'])
check('promises', 'oxlint', ['--type-aware', '-c', '.oxlintrc.json'])
check('dead code', 'knip', [])
check('generated files', 'node', ['tools/generate.ts', '--check'])
tests('unit')
tests('hub')
check('console', 'node', ['tools/build-console.ts'])
tests('e2e')

rmSync(results, { recursive: true, force: true })
const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : ''
process.stdout.write(`${count.passed} passed, ${count.failed} failed${skipped}\n`)
process.exitCode = count.failed > 0 ? 1 : 0

/** A check without tests of its own counts as one. */
function check(what: string, command: string, options: string[]): void {
  const isGood = run(what, command, options)
  count[isGood ? 'passed' : 'failed']++
}

/** A project of tests counts by test; one that could not even start counts as one failure. */
function tests(project: string): void {
  const file = join(results, `${project}.json`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const isGood = run(`${project} tests`, 'vitest', [
    'run',
    '--project',
    project,
    '--passWithNoTests',
    ...reporters,
  ])
  const report = readReport(file)
  count.passed += report.numPassedTests
  count.skipped += report.numPendingTests
  count.failed += !isGood && report.numFailedTests === 0 ? 1 : report.numFailedTests
}

function readReport(file: string): {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
} {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0 }
  }
}

function run(what: string, command: string, options: string[]): boolean {
  process.stdout.write(`\n── ${what}\n`)
  const { status } = spawnSync(command, options, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  return status === 0
}
