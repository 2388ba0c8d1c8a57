// Everything that must hold, in the order in which a fault is cheapest to find; ends with the line `N passed, N failed`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

/** The part of a report by vitest's JSON reporter that is read here. */
type Report = {
  numPassedTests: number
  numPendingTests: number
  testResults: FileReport[]
}
type FileReport = {
  name: string
  status: string
  message: string
  assertionResults: { status: string; fullName: string; failureMessages: string[] }[]
}

const root = join(import.meta.dirname, '..')
const results = mkdtempSync(join(tmpdir(), 'muster-results-'))
const count = { passed: 0, skipped: 0 }
const failures: string[] = []

check('types', 'tsc', ['-p', '.'])
check('types of the console', 'tsc', ['-p', 'apps/console'])
check('format and lint', 'biome', ['ci', '--error-on-warnings', '.'])
check('promises', 'oxlint', ['--type-aware', '-c', '.oxlintrc.json'])
check('dead code', 'knip', [])
check('generated files', 'node', ['tools/generate.ts', '--check'])
tests('unit')
tests('hub')
tests('measured')
check('console', 'node', ['tools/build-console.ts'])
tests('e2e')

rmSync(results, { recursive: true, force: true })
// Once more at the end, because the end is what is kept of a long log.
for (const failure of failures) process.stdout.write(`\n✗ ${failure}\n`)
if (count.skipped > 0) process.stdout.write(`\n${count.skipped} skipped\n`)
process.stdout.write(`\n${count.passed} passed, ${failures.length} failed\n`)
process.exitCode = failures.length > 0 ? 1 : 0

/** A check without tests of its own counts as one. */
function check(what: string, command: string, options: string[]): void {
  const isGood = run(what, command, options)
  if (isGood) count.passed++
  else failures.push(what)
}

/** A project of tests counts by test; one that could not even start counts as one failure. */
function tests(project: string): void {
  const file = join(results, `${project}.json`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const isGood = run(`${project} tests`, 'vitest', ['run', '--project', project, ...reporters])
  const report = readReport(file)
  count.passed += report.numPassedTests
  count.skipped += report.numPendingTests
  const told = report.testResults.flatMap(failuresOf)
  if (!isGood && told.length === 0) told.push(`${project} tests: the run itself failed`)
  failures.push(...told)
}

function readReport(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { numPassedTests: 0, numPendingTests: 0, testResults: [] }
  }
}

/** What failed in a file of tests, with why; a file that could not be read fails without a test. */
function failuresOf(file: FileReport): string[] {
  const name = relative(root, file.name)
  const failed = file.assertionResults.filter(test => test.status === 'failed')
  if (file.status === 'failed' && failed.length === 0) return [`${name}: ${file.message}`]
  return failed.map(test => `${name}: ${test.fullName}\n${test.failureMessages.join('\n')}`)
}

function run(what: string, command: string, options: string[]): boolean {
  process.stdout.write(`\n── ${what}\n`)
  const { status } = spawnSync(command, options, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  return status === 0
}
